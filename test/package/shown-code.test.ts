/**
 * Every block of code in the README and the guides, and every example of a docstring, is type-checked, tried
 * as a command, or named as output. The same run of the compiler checks `test/types` against the
 * declarations that are published.
 */

import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { z } from "zod";
import { commandLine } from "../../src/cli/program.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { recordedOutput } from "../cli/recorded-output.ts";
import { docstringExamples } from "../support/docstring-examples.ts";
import { shownBlocks, shownPages, shownPrograms } from "../support/shown-blocks.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(`${root}package.json`, "utf8")));
const sqlite = join(root, "src/store/sqlite");
const compiled = ["ts", "tsx"];
/** By test/package/browser.test.ts. */
const ran = ["js"];
const commands = ["sh"];
// `lua` is the settings of an editor.
const output = ["console", "json", "lua", "mermaid", "text"];
const blocks = shownPages.flatMap(shownBlocks);

it("each block says what it is", () => {
  const known = [...compiled, ...ran, ...commands, ...output];
  const unknown = blocks.filter(({ language }) => !known.includes(language));
  expect(unknown.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  expect(blocks.length).toBeGreaterThan(60);
});

const ownAgent = `
  import type { Agent } from "turnlog";
  export declare const agent: Agent;`;

/** What a page says that its reader has. */
const given: Readonly<Record<string, string>> = {
  "docs/keeping.md": `
    import type { Agent, openLog, Runtime, SessionEvent } from "turnlog";
    declare global {
      const agent: Agent, runtime: Runtime, log: Awaited<ReturnType<typeof openLog>>, dir: string;
      const current: Uint8Array, former: Uint8Array;
      function tell(session: string, event: SessionEvent): void;
    }`,
  "docs/context.md": `
    import type { Agent } from "turnlog";
    declare global {
      const model: Agent["model"], cheaper: Agent["model"], tools: NonNullable<Agent["tools"]>;
    }`,
  "docs/cookbook.md": ownAgent,
  "docs/testing.md": ownAgent,
};

const settings = {
  compilerOptions: {
    module: "nodenext",
    moduleDetection: "force",
    target: "es2024",
    lib: ["es2024", "esnext.array", "esnext.disposable", "dom", "dom.iterable"],
    types: ["node"],
    jsx: "react-jsx",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    paths: { turnlog: ["./types/public/index.d.ts"], "turnlog/*": ["./types/public/*.d.ts"] },
  },
  include: ["README", "docs", "docstrings", "examples", "tests", "SECURITY", "UPGRADING"],
};

it("code passes the compiler, and so do the examples of docstrings and the tests of types", async () => {
  await using folder = await temporaryFolder({
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify(settings),
  });
  await symlink(join(root, "node_modules"), folder.at("node_modules"));
  const programs = shownPages.flatMap((page) =>
    compiled.flatMap((language) => shownPrograms(page, language)),
  );
  for (const { page, line, language, code } of programs) {
    const name = page === "docs/testing.md" ? `${line}.test` : `${line}`;
    const file = folder.at(join(page.replace(/\.md$/, ""), `${name}.${language}`));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${code}\nexport {};\n`);
  }
  for (const [page, declarations] of Object.entries(given)) {
    const file = folder.at(join(page.replace(/\.md$/, ""), "agent.ts"));
    await writeFile(file, `${declarations}\nexport {};\n`);
  }
  const examples = docstringExamples();
  expect(examples.length).toBeGreaterThan(140);
  for (const { place, module } of examples) {
    const file = folder.at(`docstrings/${place.replaceAll(/\.ts:|\//g, "_")}.ts`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, module);
  }
  // A store of rows is written with nothing but public entries: ours could be a user's.
  for (const name of globSync("sqlite-*.ts", { cwd: sqlite })) {
    const source = readFileSync(join(sqlite, name), "utf8");
    const own = source.replaceAll(/"[./]+\/(?:row-)?(engine|events)\/index\.ts"/g, '"turnlog/$1"');
    await mkdir(folder.at("examples/engine"), { recursive: true });
    await writeFile(folder.at(join("examples/engine", name)), own);
  }
  expect(globSync("test/types/*.test-d.ts", { cwd: root }).length).toBeGreaterThan(3);
  await cp(join(root, "test/types"), folder.at("tests"), { recursive: true });
  // Declarations are read in a third of the time that the sources take, which other checks compile.
  const types = ["--noCheck", "--outDir", folder.at("types")];
  expect(await compilerErrors(root, "-p", "tsconfig.build.json", ...types)).toEqual([]);
  expect(await compilerErrors(folder.path)).toEqual([]);
});

async function compilerErrors(cwd: string, ...args: readonly string[]): Promise<readonly string[]> {
  const tsc = join(root, "node_modules/.bin/tsc");
  return await new Promise((resolve) => {
    execFile(tsc, ["--pretty", "false", ...args], { cwd }, (error, stdout) =>
      resolve(error === null ? [] : stdout.trimEnd().split("\n")),
    );
  });
}

const program = commandLine(recordedOutput(false), () => {});

/** What is wrong with a command as it would be typed; nothing for a program of others. */
function mistake(typed: string): string | undefined {
  const words = typed.trim().split(/\s+/);
  const [first, second = "", ...rest] = words;
  if (first === "turnlog") return misused([second, ...rest]);
  if (first === "npx" && second === "turnlog") return misused(rest);
  if (first !== "npm") return undefined;
  const [script = ""] = second === "run" ? rest : [second];
  if (["install", "ci", "pkg"].includes(script)) return undefined;
  const extra = words.slice(words.indexOf("--") + 1);
  if (scripts[script] === undefined) return `no script ${script}`;
  return script === "start" && words.includes("--") ? misused(extra) : undefined;
}

function misused(words: readonly string[]): string | undefined {
  const [name] = words.filter((word) => /^[a-z-]+$/.test(word) && !word.startsWith("-"));
  const named = program.commands.find((one) => one.name() === name);
  const chat = program.commands.find((one) => one.name() === "chat");
  const known = [program, named ?? chat].flatMap((one) => one?.options ?? []);
  const flags = words.filter((word) => /^--\w/.test(word)).map((word) => word.split("=")[0]);
  const unknown = flags.filter(
    (flag) => !["--help", ...known.map(({ long }) => long)].includes(flag),
  );
  return unknown.length === 0 ? undefined : `${name ?? "turnlog"} has no ${unknown.join(", ")}`;
}

it("commands name commands and options that exist", () => {
  const shell = blocks.filter(({ language }) => commands.includes(language));
  const lines = shell.flatMap(({ page, code }) =>
    code
      .split("\n")
      .flatMap((line) =>
        (line.split(" #")[0] ?? "").split(/&&|\|/).map((typed) => ({ page, typed })),
      ),
  );
  const inText = shownPages.flatMap((page) =>
    [...readFileSync(`${root}${page}`, "utf8").matchAll(/`((?:npx )?turnlog [^`]+)`/g)].map(
      ([, typed = ""]) => ({ page, typed }),
    ),
  );
  expect(inText.length).toBeGreaterThan(50);
  const wrong = [...lines, ...inText].flatMap(({ page, typed }) => {
    const problem = mistake(typed);
    return problem === undefined ? [] : [`${page}: \`${typed.trim()}\`: ${problem}`];
  });
  expect(wrong).toEqual([]);
});
