/**
 * `npm run test:mutants -- [--sample 40] [--seed 1] [--folder projections] [--file queue.ts] [--near]`: plants
 * mutants one at a time, in memory, runs the tests that are near, and tells the outcome of each. What
 * the nearest tests let pass is shown to the compiler before the others run; with `--near` to nobody
 * else. Each folder has a sample of its own; without `--sample` all mutants are planted, for hours.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { createVitest, type TestRunResult, type Vitest } from "vitest/node";
import { seededRandom } from "../support/random.ts";
import { patience } from "../support/runs.ts";
import { filesOf, folders, root, type Folder } from "./folders.ts";
import { mutantsOf, planted, type Mutant } from "./mutants.ts";

interface Planted {
  readonly file: string;
  readonly text: string;
  readonly mutant: Mutant;
}

const { values } = parseArgs({
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    folder: { type: "string" },
    file: { type: "string" },
    near: { type: "boolean", default: false },
  },
});

/** Milliseconds that the tests of a mutant may take: more means that it does not end. */
let mostMs = 600_000;

/** The content that replaces a file. */
let now: { readonly file: string; readonly text: string } | undefined;

const vitest = await createVitest(
  {
    watch: false,
    fsModuleCache: false,
    // Only Vite takes the content that replaces a file.
    experimental: { viteModuleRunner: true },
    reporters: [{}],
    bail: 1,
    maxWorkers: 1,
    // The sources are loaded once for all files of a group: that is most of what a mutant takes.
    isolate: false,
    // A busy machine must not kill a mutant.
    testTimeout: patience,
  },
  {
    root,
    plugins: [
      { name: "mutant", enforce: "pre", load: (id) => (id === now?.file ? now.text : undefined) },
    ],
  },
);
await vitest.standalone();
const copy = mkdtempSync(join(root, "node_modules/.mutants-"));
process.once("exit", () => rmSync(copy, { recursive: true }));
cpSync(join(root, "src"), join(copy, "src"), { recursive: true });
writeFileSync(
  join(copy, "tsconfig.json"),
  JSON.stringify({
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      incremental: true,
      tsBuildInfoFile: join(copy, "built.tsbuildinfo"),
      allowUnreachableCode: true,
      noEmit: true,
    },
    include: ["src"],
  }),
);
if (values.folder !== undefined && !Object.hasOwn(folders, values.folder))
  throw new Error(`There is no folder ${values.folder}; give ${Object.keys(folders).join(", ")}.`);
const rows: object[] = [];
for (const [name, folder] of Object.entries(folders)) {
  if (values.folder !== undefined && values.folder !== name) continue;
  rows.push(await tried(vitest, name, folder));
}
console.table(rows);
await vitest.close();

async function tried(running: Vitest, name: string, folder: Folder): Promise<object> {
  const all = await testsOf(running, folder);
  const groups = values.near ? all.slice(0, 1) : all;
  const begun = performance.now();
  if (!(await passes(running, groups.flat())))
    throw new Error(`The tests of ${name} fail as it is.`);
  mostMs = Math.max(60_000, 5 * (performance.now() - begun));
  const chosen = sampled(folder.sources.flatMap(planting));
  if (!values.near && !compiles()) throw new Error("The sources do not compile as they are.");
  let [near, far, refused] = [0, 0, 0];
  for (const { file, text, mutant } of chosen) {
    now = { file, text: planted(text, mutant) };
    running.invalidateFile(file);
    const [nearest = [], ...others] = groups;
    const { own = [], other = [] } = Object.groupBy(nearest, ({ moduleId }) =>
      firstWord(moduleId) === firstWord(file) ? "own" : "other",
    );
    let survives = (await passes(running, own)) && (await passes(running, other));
    if (!survives) near++;
    const isFar = survives;
    const isRefused = !values.near && survives && !compilesWith(now);
    for (const group of isRefused ? [] : others) survives &&= await passes(running, group);
    now = undefined;
    running.invalidateFile(file);
    const outcome = isRefused ? "refused" : survives ? "survived" : "killed";
    console.log(`${outcome}: ${told(file, text, mutant)}`);
    if (isRefused) refused++;
    else if (isFar && !survives) far++;
  }
  // A runner that broke would have killed all that came after.
  if (!(await passes(running, groups.slice(0, 1).flat())))
    throw new Error(`The tests of ${name} fail without a mutant: the figures do not count.`);
  const valid = chosen.length - refused;
  const share = (killed: number): string =>
    `${Math.round((1000 * killed) / Math.max(1, valid)) / 10} %`;
  return {
    folder: name,
    mutants: chosen.length,
    "refused by the compiler": refused,
    killed: near + far,
    share: share(near + far),
    "by near tests alone": share(near),
  };
}

/** A file's tests are named as it is, or begin with the same word. */
function firstWord(path: string): string | undefined {
  return /^\w+/.exec(basename(path))?.[0];
}

/** Whether the compiler takes the sources with what takes the place of a file. */
function compilesWith({ file, text }: NonNullable<typeof now>): boolean {
  const place = join(copy, file.slice(root.length));
  const before = readFileSync(place);
  writeFileSync(place, text);
  const taken = compiles();
  writeFileSync(place, before);
  return taken;
}

function compiles(): boolean {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  return spawnSync(process.execPath, [tsc, "-p", copy]).status === 0;
}

type Group = Parameters<Vitest["runTestSpecifications"]>[0];

async function testsOf(running: Vitest, { tests }: Folder): Promise<readonly Group[]> {
  const all = await running.globTestSpecifications();
  return tests.map((group) =>
    group.flatMap((one) => {
      const named = all.filter(({ moduleId }) => moduleId.startsWith(join(root, "test", one)));
      if (named.length === 0) throw new Error(`There is no test that begins with ${one}.`);
      return named;
    }),
  );
}

async function passes(running: Vitest, group: Group): Promise<boolean> {
  if (group.length === 0) return true;
  const hang = setTimeout(endWorkers, mostMs);
  try {
    return await passesInTime(running, group);
  } finally {
    clearTimeout(hang);
  }
}

/** A mutant may loop forever, and its process answers no more. The run then ends as one that failed. On Linux. */
function endWorkers(): void {
  const tasks = `/proc/${process.pid}/task`;
  const children = readdirSync(tasks).flatMap((task) =>
    readFileSync(join(tasks, task, "children"), "utf8")
      .split(" ")
      .filter(Boolean),
  );
  for (const id of children)
    if (readFileSync(`/proc/${id}/cmdline`, "utf8").includes("/node\0"))
      process.kill(Number(id), "SIGKILL");
}

async function passesInTime(running: Vitest, group: Group): Promise<boolean> {
  const { testModules, unhandledErrors }: TestRunResult =
    await running.runTestSpecifications(group);
  // The result has the modules of former runs too, as they ended there.
  const run = new Set(group.map(({ moduleId }) => moduleId));
  return (
    unhandledErrors.length === 0 &&
    testModules.every((module) => !run.has(module.moduleId) || module.ok())
  );
}

function planting(source: string): readonly Planted[] {
  return filesOf(source)
    .filter((file) => file.endsWith(values.file ?? ".ts"))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8");
      return mutantsOf(file, text).map((mutant) => ({ file, text, mutant }));
    });
}

function sampled(all: readonly Planted[]): readonly Planted[] {
  const { sample, seed } = values;
  if (sample === undefined) return all;
  const random = seededRandom(seed);
  return all
    .map((one) => ({ one, place: random.next() }))
    .toSorted((left, right) => left.place - right.place)
    .slice(0, Number(sample))
    .map(({ one }) => one);
}

function told(file: string, text: string, mutant: Mutant): string {
  const { start, end, by } = mutant;
  const line = text.slice(0, start).split("\n").length;
  return `${file.slice(root.length)}:${line} ${JSON.stringify(text.slice(start, end))} → ${JSON.stringify(by)}`;
}
