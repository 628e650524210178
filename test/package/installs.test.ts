/**
 * The packed package as users install it: npm, pnpm and Bun with three releases of Node, each in an empty folder,
 * from the registry. A program answers, another continues after a kill, and nothing warns. What `turnlog init` makes
 * there is installed, tested and built.
 */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanEnvironment } from "../cli/command-line.ts";
import { packed } from "../support/packed.ts";
import { long } from "../support/runs.ts";
import { shownPrograms } from "../support/shown-blocks.ts";

const needs = long ? "" : " (needs `npm run test:installs`, which installs from the registry)";
const nodes = ["22", "24", "26"] as const;
const oldNode = "20";

interface Manager {
  /** Of its own, and the arguments that install what follows. */
  readonly add: readonly [string, ...string[]];
  /** Starts a command of an installed package. */
  readonly exec: readonly [string, ...string[]];
  /** Its words about LevelDB's install script, which it did not run. */
  readonly says: RegExp;
  /** pnpm installs, and exits with 1 for the sake of the script. */
  readonly code: number;
  /** As docs/bundlers.md says. Afterwards an installation warns of nothing. */
  readonly settle: readonly [string, ...string[]];
}

const managers: Readonly<Record<string, Manager>> = {
  npm: {
    add: ["npm", "install", "--no-audit", "--no-fund", "--loglevel=warn"],
    exec: ["npx", "--no-install"],
    says: /^npm warn install-scripts 1 package has install scripts .*\nnpm warn install-scripts {3}classic-level@\S+ \(install: node-gyp-build\)\n(?:npm warn install-scripts.*\n)+$/,
    code: 0,
    settle: ["npm", "install-scripts", "deny", "classic-level"],
  },
  pnpm: {
    add: ["pnpm", "add"],
    exec: ["pnpm", "exec"],
    says: /^Error: ERR_PNPM_IGNORED_BUILDS\n[\s\S]*Ignored build scripts: classic-level@\S+\n/,
    code: 1,
    settle: ["pnpm", "approve-builds", "!classic-level"],
  },
  bun: {
    add: ["bun", "add"],
    exec: ["bunx"],
    says: /^Resolving dependencies\nResolved.*\nSaved lockfile\n$/,
    code: 0,
    // Nothing to settle.
    settle: ["bun", "--version"],
  },
};

/** The first process dies in the middle of the reply; the second has the rest said. */
const killed = `
  import { createRuntime } from "turnlog";
  import { gate, scriptedModel } from "turnlog/testing";
  const isFirst = process.argv[2] === "first";
  const half = { parts: [{ type: "text", deltas: ["The first half. ", gate()] }] };
  const model = scriptedModel(() => (isFirst ? half : "The second half."));
  const runtime = await createRuntime({ dir: "store", agent: { model }, recovery: "continue" });
  const session = await runtime.session("s");
  if (isFirst) {
    const turn = await session.send("Go.", { id: "m-1" });
    for await (const event of turn)
      if (event.type === "part.text-delta") process.kill(process.pid, "SIGKILL");
  }
  const turn = await session.turn("m-1");
  const { finishReason } = await turn.result;
  console.log(JSON.stringify(await session.view()).includes("The first half. "), finishReason);
  await runtime.close();
`;
/** Asks the sessions of a page that Vite serves; the example of Next.js is asked by its own test. */
const asking = `
  import { preview } from "vite";
  const { resolvedUrls } = await preview({ preview: { port: 0 } });
  const ask = { method: "POST", headers: { "content-type": "application/json" }, body: '{"id":"s"}' };
  const { status } = await fetch(new URL("/api/sessions", resolvedUrls.local[0]), ask);
  process.exit(status < 300 ? 0 : 1);
`;
const [readme] = shownPrograms("README.md", "ts");

interface Said {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

let folder = "";
let tarball = "";
const tools = (name: string): string => join(folder, "tools", name);

/** Runs a command with a release of Node before all others. */
async function run(
  [command = "", ...args]: readonly string[],
  cwd: string,
  node: string,
): Promise<Said> {
  const first = [tools(`node${node}/node_modules/node/bin`), tools("managers/node_modules/.bin")];
  const PATH = [...first, process.env["PATH"]].join(delimiter);
  const env = cleanEnvironment({ PATH, NO_COLOR: "1", npm_config_update_notifier: "false" });
  return await new Promise((resolve) => {
    const child = execFile(command, args, { cwd, env }, (_, stdout, stderr) =>
      resolve({
        code: child.exitCode,
        signal: child.signalCode,
        stdout,
        // Of the machine's own settings.
        stderr: stderr.replaceAll(/^npm warn Unknown user config.*\n/gm, ""),
      }),
    );
  });
}

async function emptyFolder(name: string, manifest: object = {}): Promise<string> {
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "package.json"), JSON.stringify({ private: true, ...manifest }));
  return path;
}

const quiet = { code: 0, signal: null, stderr: "" };

/** A program answers; another continues after a kill. `start` is the command that runs a file. */
async function expectToRun(start: readonly string[], cwd: string, node: string): Promise<void> {
  await writeFile(join(cwd, "readme.mjs"), readme?.code ?? "");
  await writeFile(join(cwd, "killed.mjs"), killed);
  const answer = await run([...start, "readme.mjs"], cwd, node);
  expect(answer).toMatchObject(quiet);
  expect(answer.stdout).not.toBe("");
  const first = await run([...start, "killed.mjs", "first"], cwd, node);
  expect(first).toMatchObject({ signal: "SIGKILL", stdout: "", stderr: "" });
  const second = await run([...start, "killed.mjs"], cwd, node);
  expect(second).toEqual({ ...quiet, stdout: "true stop\n" });
}

describe.skipIf(!long)(`the installed package${needs}`, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(await realpath(tmpdir()), "turnlog-installs-"));
    tarball = (await packed(folder)).file;
    const install = async (name: string, ...packages: readonly string[]): Promise<void> => {
      const cwd = await emptyFolder(`tools/${name}`, {
        allowScripts: { node: true, bun: true, pnpm: true },
      });
      const said = await run(["npm", "install", ...packages], cwd, "none");
      expect(said, said.stderr).toMatchObject({ code: 0 });
    };
    for (const node of [oldNode, ...nodes]) await install(`node${node}`, `node@${node}`);
    await install("managers", "npm@11", "pnpm@12", "bun@1");
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  describe.each(Object.entries(managers))("by %s", (name, { add, exec, says, code, settle }) => {
    it.each(nodes)("on Node %s: runs, continues after a kill, and nothing warns", async (node) => {
      const cwd = await emptyFolder(`${name}-${node}`);
      const packages = [tarball, "ai", "zod"];
      const added = await run([...add, ...packages], cwd, node);
      expect(added).toMatchObject({ code });
      expect(added.stderr).toMatch(says);
      expect(`${added.stdout}${added.stderr}`).not.toMatch(/deprecat|peer/i);
      expect(await run(settle, cwd, node)).toMatchObject({ code: 0 });
      await rm(join(cwd, "node_modules"), { recursive: true });
      const again = await run([...add, ...packages], cwd, node);
      expect(again).toMatchObject({ code: 0 });
      expect(again.stderr).not.toMatch(/warn|error|script/i);
      expect((await run(["node", "--version"], cwd, node)).stdout).toMatch(`v${node}.`);
      const version = await run([...exec, "turnlog", "--version"], cwd, node);
      expect(version).toMatchObject(quiet);
      expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      await expectToRun(["node"], cwd, node);
    });
  });

  it.each(["none", "vite", "next"])(
    "makes a folder with the page %s, which installs, compiles, passes its test, builds and answers",
    async (page) => {
      const cwd = join(folder, "npm-24");
      const made = await run(
        ["npx", "--no-install", "turnlog", "init", page, "--page", page, "--yes"],
        cwd,
        "24",
      );
      expect(made, made.stderr).toMatchObject({ code: 0 });
      for (const command of [
        `npm pkg set dependencies.turnlog=file:${tarball}`,
        "npm install --prefer-offline --no-audit --no-fund",
        "npx --no-install tsc",
        "npm test",
        ...(page === "none" ? [] : ["npm run build"]),
        ...(page === "vite" ? ["node ask.mjs"] : []),
      ]) {
        if (page === "vite") await writeFile(join(cwd, page, "ask.mjs"), asking);
        const said = await run(command.split(" "), join(cwd, page), "24");
        expect(said, `${command}: ${said.stdout}${said.stderr}`).toMatchObject({ code: 0 });
        expect(said.stderr).not.toMatch(/install-scripts/);
      }
    },
  );

  it("runs in Bun itself, and continues after a kill", async () => {
    await expectToRun(["bun"], join(folder, "bun-24"), "24");
  });

  it("says on an old Node which one it needs", async () => {
    const cwd = join(folder, "npm-24");
    await writeFile(join(cwd, "readme.mjs"), readme?.code ?? "");
    const said = await run(["node", "readme.mjs"], cwd, oldNode);
    expect(said).toMatchObject({ code: 1, stdout: "" });
    expect(said.stderr).toMatch(/turnlog needs Node\.js \S+ or newer; this is 20\./);
    const command = await run(["npx", "--no-install", "turnlog", "--version"], cwd, oldNode);
    expect(command.stderr).toMatch(/^turnlog needs Node\.js \S+ or newer; this is v20\..*\n$/);
  });
});
