/** What a browser loads of the package: `turnlog/events` and `turnlog/projections`, without Node. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build, type RolldownOutput } from "rolldown";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { browserInput, browserOutput } from "../../browser-bundle.ts";
import * as events from "../../src/public/events.ts";
import * as projections from "../../src/public/projections.ts";

/** What browsers have besides the language. */
const web = { TextEncoder, TextDecoder, URL, structuredClone, console };

/** The files of the browser's entries, and one script of all that a page needs, zod included. */
async function bundles(): Promise<{ readonly published: RolldownOutput; readonly page: string }> {
  const dir = await mkdtemp(join(tmpdir(), "turnlog-browser-"));
  onTestFinished(async () => await rm(dir, { recursive: true }));
  const published = await build({ ...browserInput, output: { ...browserOutput, dir } });
  const entry = join(dir, "page.js");
  const names = ["events", "projections"];
  await writeFile(
    entry,
    names.map((name) => `export * as ${name} from "./${name}.js";`).join("\n"),
  );
  const { output } = await build({
    input: entry,
    platform: "browser",
    resolve: { alias: { zod: fileURLToPath(import.meta.resolve("zod")) } },
    output: { format: "iife", name: "turnlog" },
    write: false,
  });
  return { published, page: output[0].code };
}

/** The code of docs/browser.md, as a script. */
async function documented(): Promise<string> {
  const text = await readFile(new URL("../../docs/browser.md", import.meta.url), "utf8");
  const [, code = ""] = /```js\n(.*?)```/su.exec(text) ?? [];
  return code
    .replace(/import (\{.*\}) from "turnlog\/(\w+)";/u, "const $1 = turnlog.$2;")
    .replace("export function", "function");
}

/** Each session through the codec and every projection, and what the code of the document shows. */
const program = `
  const { events, projections } = turnlog;
  const codec = events.createCodec();
  JSON.stringify(JSON.parse(sessions).map((session) => {
    const rows = session.map((event, index) => codec.encode(event, { session: "s", position: index + 1 }));
    const read = rows.map((row, index) => codec.decode(row, { session: "s", position: index + 1 }));
    const state = (fold) => read.reduce((before, event) => fold.fold(before, event), fold.initial);
    const folds = Object.values(projections).filter(({ fold }) => fold !== undefined);
    return [rows, folds.map((fold) => [fold.name, state(fold)]), shown(read)];
  }));
`;

async function recordedSession(name: string): Promise<readonly unknown[]> {
  const file = new URL(`../../fixtures/sessions/${name}.jsonl`, import.meta.url);
  const rowSchema = z.tuple([z.string(), z.int(), z.number(), z.unknown()], z.unknown());
  return (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [type, , time, data] = rowSchema.parse(JSON.parse(line));
      return { type, time, data };
    });
}

it("the entries for a browser import nothing of Node and fold recorded sessions as Node does", async () => {
  const { published, page } = await bundles();
  const imported = published.output.flatMap((file) =>
    file.type === "chunk" ? [...file.imports, ...file.dynamicImports] : [],
  );
  expect(imported).toContain("zod");
  expect(
    imported.filter((name) => name.startsWith("node:") || builtinModules.includes(name)),
  ).toEqual([]);

  const names = ["cancels", "compactions", "parallel", "reasoning"];
  const sessions = JSON.stringify(await Promise.all(names.map(recordedSession)));
  const browser = createContext({ ...web, sessions });
  runInContext(page, browser);
  const script = `${await documented()}\n{${program}}`;
  const shown: unknown = runInContext(script, browser);
  expect(shown).toContain("context-view");
  expect(shown).toContain('"prompt":[{"role":"user"');
  const turnlog = { events, projections };
  expect(shown).toBe(runInContext(script, createContext({ turnlog, sessions })));
});
