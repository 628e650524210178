/**
 * What a user installs: the package is packed as npm would publish it, laid beside the dependencies that
 * it declares and nothing else, and every entry point is loaded and type-checked from there. No network.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const manifest = z
  .object({
    version: z.string(),
    exports: z.record(z.string(), z.unknown()),
    dependencies: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
    peerDependenciesMeta: z.record(z.string(), z.unknown()),
  })
  .parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
const entryPoints = Object.keys(manifest.exports)
  .filter((path) => path !== "./package.json")
  .map((path) => `turnlog${path.slice(1)}`);

const packList = z.array(z.object({ filename: z.string(), size: z.number() })).length(1);
const names = z.array(z.string());

let folder = "";
let consumer = "";
let tarballBytes = 0;

/** What a command says on stdout; where it fails, the test tells all that it said. */
async function output(command: string, args: readonly string[], cwd: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    execFile(command, args, { cwd }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args[0]} failed:\n${stdout}\n${stderr}`));
    });
  });
}

async function link(name: string, into: string): Promise<void> {
  const target = join(into, "node_modules", name);
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(root, "node_modules", name), target);
}

/** Builds and packs a copy of the tree, so that the tree's own `dist` is neither used nor touched. */
async function pack(): Promise<string> {
  const copy = join(folder, "copy");
  const left = new Set(["node_modules", "dist", ".git", ".turnlog", "coverage"]);
  const filter = (path: string): boolean => !left.has(relative(root, path));
  await cp(root, copy, { recursive: true, filter });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  const said = await output("npm", ["pack", "--json", "--pack-destination", folder], copy);
  // The build that npm runs first may speak before the list.
  const [packed] = packList.parse(JSON.parse(said.slice(said.indexOf("[\n"))));
  if (packed === undefined) throw new Error("npm packed nothing");
  tarballBytes = packed.size;
  return join(folder, packed.filename);
}

/** The names that an entry point really exports, asked of a fresh Node in the consumer's folder. */
async function exportedNames(entryPoint: string): Promise<readonly string[]> {
  const program = `console.log(JSON.stringify(Object.keys(await import("${entryPoint}"))))`;
  const args = ["--input-type=module", "--eval", program];
  return names.parse(JSON.parse(await output(process.execPath, args, consumer)));
}

/** The files that are loaded with an entry point, by their places below `node_modules`. */
async function loadedFiles(entryPoint: string): Promise<readonly string[]> {
  const program = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    await import("${entryPoint}");
    console.log(JSON.stringify(urls));`;
  const args = ["--input-type=module", "--eval", program];
  const urls = names.parse(JSON.parse(await output(process.execPath, args, consumer)));
  return urls.map((url) => url.slice(url.lastIndexOf("/node_modules/") + 1));
}

beforeAll(async () => {
  // The real path, as the compiler names files by theirs.
  folder = await mkdtemp(join(await realpath(tmpdir()), "turnlog-published-"));
  consumer = join(folder, "consumer");
  const installed = join(consumer, "node_modules/turnlog");
  await mkdir(installed, { recursive: true });
  await output("tar", ["-xzf", await pack(), "--strip-components=1", "-C", installed], folder);
  // `@types/node` is what a TypeScript project on Node has of its own.
  const peers = Object.keys(manifest.peerDependencies);
  const required = peers.filter((name) => !Object.hasOwn(manifest.peerDependenciesMeta, name));
  for (const name of [...Object.keys(manifest.dependencies), ...required, "@types/node"]) {
    await link(name, consumer);
  }
  await writeFile(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
  // Builds, packs and installs: a loaded machine is not a failure.
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("the published package", () => {
  it("has at most 3 MB", () => {
    expect(tarballBytes).toBeGreaterThan(0);
    expect(tarballBytes).toBeLessThanOrEqual(3_000_000);
  });

  it.each(entryPoints)("%s loads with the declared dependencies alone", async (entryPoint) => {
    expect(await exportedNames(entryPoint)).not.toEqual([]);
  });

  it.each(entryPoints)("%s is loaded from few files of ours", async (entryPoint) => {
    const ours = (await loadedFiles(entryPoint)).filter((file) =>
      file.startsWith("node_modules/turnlog/"),
    );
    expect(ours.length).toBeGreaterThan(0);
    expect(ours.length).toBeLessThanOrEqual(24);
  });

  it("turnlog is loaded without the AI SDK's providers, MCP, the prices of models and the command line", async () => {
    const files = await loadedFiles("turnlog");
    const later =
      /^node_modules\/(?:ai|classic-level|level|@ai-sdk\/(?:openai|google|mcp)|@pydantic)\//;
    expect(files.filter((file) => later.test(file))).toEqual([]);
    expect(files.some((file) => file.startsWith("node_modules/zod/"))).toBe(true);
  });

  it("gives a type to every name that an entry point exports, in a strict nodenext project", async () => {
    const lines = await Promise.all(
      entryPoints.map(async (entryPoint, index) => {
        const imported = await exportedNames(entryPoint);
        const list = imported.map((name) => `${name} as ${name}${index}`).join(", ");
        const used = imported.map((name) => `${name}${index}`).join(", ");
        return `import { ${list} } from "${entryPoint}";\nexport const from${index} = [${used}];\n`;
      }),
    );
    await writeFile(join(consumer, "main.ts"), lines.join(""));
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "esnext.disposable"],
      types: ["node"],
      strict: true,
      noEmit: true,
      // Our own declarations are checked, those of the dependencies are theirs to answer for.
      skipLibCheck: false,
    };
    const project = JSON.stringify({ compilerOptions, files: ["main.ts"] });
    await writeFile(join(consumer, "tsconfig.json"), project);
    const tsc = join(root, "node_modules/.bin/tsc");
    const said = await output(tsc, ["--pretty", "false"], consumer).catch(String);
    const dependencies = relative(consumer, await realpath(join(root, "node_modules")));
    const errors = said.split("\n").filter((line) => line.includes("error TS"));
    expect(errors.filter((line) => !line.startsWith(dependencies))).toEqual([]);
  });

  it("has a turnlog command that tells its version", async () => {
    const command = join(consumer, "node_modules/turnlog/bin/turnlog.cjs");
    const said = await output(process.execPath, [command, "--version"], consumer);
    expect(said.trim()).toBe(manifest.version);
  });

  it("names the package to install where a feature needs one that is not there", async () => {
    const program = `
      import { createRuntime } from "turnlog";
      import { scriptedModel } from "turnlog/testing";
      const mcp = { files: { command: "none" } };
      await using runtime = await createRuntime({ memory: true, mcp, agent: { model: scriptedModel(["Yes."]) } });
      const session = await runtime.session("s");
      await (await session.send("Go.")).result;`;
    const said = await output(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `process.on("warning", ({ message }) => console.log(message));${program}`,
      ],
      consumer,
    );
    expect(said).toContain("Run `npm install @ai-sdk/mcp`");
    expect(said).toContain("Run `npm install @pydantic/genai-prices`");
  });

  it("runs the command with nothing but the required peers: a turn, and what was said", async () => {
    const command = join(consumer, "node_modules/turnlog/bin/turnlog.cjs");
    const run = (...args: readonly string[]): Promise<string> =>
      output(process.execPath, [command, ...args], consumer);
    expect(await run("--session", "one", "--model", "offline", "hello")).not.toBe("");
    expect(await run("show", "one")).toContain("hello");
  });

  it("serves with nothing but the required peers, until a signal ends it", async () => {
    const command = join(consumer, "node_modules/turnlog/bin/turnlog.cjs");
    const options = ["--port", "0", "--model", "offline", "--json"];
    const child = spawn(process.execPath, [command, "serve", ...options], { cwd: consumer });
    const [line] = z.tuple([z.instanceof(Buffer)]).parse(await once(child.stdout, "data"));
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(line.toString()));
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("carries its sources and its build, and no tests, fixtures or settings", async () => {
    const installed = await readdir(join(consumer, "node_modules/turnlog"));
    expect(installed.toSorted()).toEqual([
      "LICENSE",
      "README.md",
      "bin",
      "dist",
      "package.json",
      "src",
    ]);
  });
});
