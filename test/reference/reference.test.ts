/** The pages of the reference say what the source says, and the hand-written tables beside them name all that it has. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { RuntimeMetrics } from "../../src/runtime/figures/runtime-metrics.ts";
import { Circuits } from "../../src/runtime/model/failover.ts";
import { eventsPage, eventsPath } from "./events-page.ts";
import { referencePage, referencePath } from "./reference-page.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

it.each([
  [eventsPath, eventsPage],
  [referencePath, referencePage],
])("%s is made from the source as it is now", async (path, page) => {
  expect(
    read(path) === (await page()),
    `${path} is behind the source: run \`npm run reference\``,
  ).toBe(true);
});

/** The names in the first column of a table under a heading. */
function namesIn(page: string, heading: string): readonly string[] {
  const [, rest = ""] = read(page).split(`\n## ${heading}\n`);
  const [own = ""] = rest.split("\n## ");
  const cells = [...own.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name));
}

it("docs/telemetry.md lists each metric", () => {
  const made: string[] = [];
  const make = (name: string) => {
    made.push(name);
    return { add: () => {}, record: () => {}, addCallback: () => {} };
  };
  const meter = { createCounter: make, createHistogram: make, createObservableGauge: make };
  expect(new RuntimeMetrics(meter, () => 0, new Circuits({}, Date.now))).toBeDefined();
  const listed = namesIn("docs/telemetry.md", "Metrics").filter((name) => name.includes("."));
  expect(listed.toSorted()).toEqual(made.toSorted());
});

it("docs/terminal.md lists each variable of the environment that the command line reads", () => {
  const files = globSync("src/cli/**/*.ts", { cwd: root });
  // It writes a program that reads variables of its own.
  const readers = files.filter((file) => !file.endsWith("init-command.ts"));
  const source = readers.map(read).join("\n");
  const [, fields = ""] = read("src/cli/settings/environment.ts").split(".object({");
  const [own = ""] = fields.split("\n  })");
  const used = new Set([
    ...[...source.matchAll(/\bTURNLOG_[A-Z_]+\b/g)].map(([name]) => name),
    ...[...source.matchAll(/process\.env\["(\w+)"\]/g)].map(([, name = ""]) => name),
    ...[...own.matchAll(/^\s+([A-Z_]+):/gm)].map(([, name = ""]) => name),
  ]);
  expect(used.size).toBeGreaterThan(12);
  const listed = namesIn("docs/terminal.md", "Settings from the environment");
  expect(new Set(listed)).toEqual(used);
});

const UNITS = { MB: 1e6, GB: 1e9, MiB: 2 ** 20, minutes: 60_000 } as const;

function isUnit(unit: string | undefined): unit is keyof typeof UNITS {
  return unit !== undefined && unit in UNITS;
}

/** The product of a constant expression; NaN for anything else. */
function valueOf(expression: string): number {
  const factors = expression.split("*").map((factor) => factor.trim().replaceAll("_", ""));
  return factors.reduce((product, factor) => product * Number(factor || Number.NaN), 1);
}

it("each option has the default number that its docstring says", () => {
  const sources = new Map(globSync("src/**/*.ts", { cwd: root }).map((at) => [at, read(at)]));
  const constants = [...sources.values()].flatMap((source) =>
    [...source.matchAll(/const ([A-Z][A-Z_\d]+)(?:: number)? = ([^;]+);/g)].map(
      ([, name = "", value = ""]) => [name, valueOf(value)] as const,
    ),
  );
  const told: string[] = [];
  const wrong: string[] = [];
  for (const [at, source] of sources) {
    const options = /\/\*\*((?:(?!\*\/)[^])*?)\*\/\s*readonly (\w+)\?:/g;
    for (const [, text = "", name = ""] of source.matchAll(options)) {
      const [, digits = "", unit] = /Default:? (\d[\d,]*(?:\.\d+)?)(?: (\w+))?/.exec(text) ?? [];
      // A status of HTTP, and a default that depends on the agent's other settings.
      if (digits === "" || name === "absent" || name === "maxSteps") continue;
      const number = Number(digits.replaceAll(",", "")) * (isUnit(unit) ? UNITS[unit] : 1);
      const named = constants.flatMap(([constant, value]) => (value === number ? [constant] : []));
      const forms = [String(number), number.toLocaleString("en").replaceAll(",", "_"), ...named];
      const taking = (what: string): RegExp =>
        new RegExp(`\\b${name}\\b[^;\\n]{0,60}?(?:=|:|\\?) (?:${what})\\b`);
      // Another file may pass a value of its own.
      const own = source.replaceAll(/^\s*\*.*$/gm, "");
      const places = taking("[\\d_]+|[A-Z][A-Z_]+").test(own) ? [own] : [...sources.values()];
      told.push(name);
      if (!places.some((one) => taking(forms.join("|")).test(one)))
        wrong.push(`${at}: ${name} ${digits}`);
    }
  }
  expect(told.length).toBeGreaterThan(30);
  expect(wrong).toEqual([]);
});
