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
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { readUIMessageStream, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { chatTransport, createClient } from "../../src/public/client.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { packed } from "../support/packed.ts";
import { all, inAll, sampled } from "../support/runs.ts";
import { uncaughtPrograms } from "../support/uncaught-programs.ts";

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

/**
 * A module of a user who publishes declarations: the types of its exports must have names that he can import, or be
 * written as UPGRADING.md says.
 */
const library = `
  import * as turnlog from "turnlog";
  import * as client from "turnlog/client";
  import { createCodec } from "turnlog/events";
  import { openPostgresLog } from "turnlog/postgres";
  import { defineProjection, history } from "turnlog/projections";
  import { createServer, serveNode } from "turnlog/server";
  import { openSqliteLog } from "turnlog/sqlite";
  import { gate, scriptedModel } from "turnlog/testing";
  import { readUIMessages, uiMessages } from "turnlog/ui";
  import { z } from "zod";

  export const model = scriptedModel(["Yes."]);
  export const events = turnlog.defineEvents({ "app.paid": z.object({ sum: z.number() }) });
  export const parsed = (event: turnlog.SessionEvent) => events.parse(event);
  export const paid = defineProjection({
    name: "paid", version: 1, follows: "log", events, schema: z.object({ sum: z.number() }), initial: { sum: 0 },
    on: { "app.paid": (state, { data }) => ({ sum: state.sum + data.sum }) },
  });
  export const helper = turnlog.agentTool({ agent: { model }, description: "Helps." });
  export const memory = await turnlog.openMemoryLog();
  export const log = await turnlog.openLog({ dir: "store" });
  export const pg = await openPostgresLog({ connectionString: "postgres://localhost" });
  export const sqlite = await openSqliteLog({ file: "sessions.db" });
  export const keys = turnlog.masterKeys(turnlog.memoryKeys(), { current: new Uint8Array(32) });
  export const encrypted = turnlog.encryptedLog(memory, keys);
  export const blobs = turnlog.folderBlobs("blobs");
  export const when = [turnlog.overflow(), turnlog.threshold(0.5), turnlog.manual()];
  export const how = [turnlog.summarize(), turnlog.dropMiddle()];
  export const estimate = turnlog.tokenizer((text) => text.length);
  export const counter: ReturnType<typeof turnlog.providerCounter> = turnlog.providerCounter(() => model);
  export const runtime = await turnlog.createRuntime({ log, agent: { model, tools: { helper } }, events });
  export const session = await runtime.session("s");
  export const turn = await session.send("Go.");
  export const result = await turn.result;
  export const view = await session.view();
  export const context: Awaited<ReturnType<turnlog.Session["context"]>> = await session.context();
  export const waiting: Awaited<ReturnType<turnlog.Runtime["approvals"]>> = await runtime.approvals();
  export const listed = await runtime.sessions()[Symbol.asyncIterator]().next();
  export const report: Awaited<ReturnType<typeof turnlog.verifySession>> = await turnlog.verifySession(log, "s");
  export const stream: ReturnType<typeof turnlog.uiStream> = turnlog.uiStream(session);
  export const remote = client.createClient({ baseUrl: "http://localhost" });
  export const remoteSession = remote.session("s");
  export const transport = client.chatTransport(remote);
  export const said: typeof history.initial = history.initial;
  export const server = createServer(runtime);
  export const served = await serveNode(runtime);
  export const messages: ReturnType<typeof uiMessages> = uiMessages({ session: "s" });
  export const read = readUIMessages(messages.initial);
  export const codec: ReturnType<typeof createCodec> = createCodec();
  export const stop = gate();
`;

let folder = "";
let consumer = "";
/** A project that has copied the examples, with the packages that they import. */
let project = "";
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

/** Runs a program in a fresh Node in the consumer's folder. */
async function told(program: string): Promise<string> {
  return await output(process.execPath, ["--input-type=module", "--eval", program], consumer);
}

/** The files that are loaded with an entry point, by their places below `node_modules`. */
async function filesLoadedBy(entryPoint: string): Promise<readonly string[]> {
  const said = await told(`
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    await import("${entryPoint}");
    console.log(JSON.stringify(urls));`);
  const urls = z.array(z.string()).parse(JSON.parse(said));
  return urls.map((url) => url.slice(url.lastIndexOf("/node_modules/") + 1));
}

beforeAll(async () => {
  // The real path, as the compiler names files by theirs.
  folder = await mkdtemp(join(await realpath(tmpdir()), "turnlog-published-"));
  consumer = join(folder, "consumer");
  const installed = join(consumer, "node_modules/turnlog");
  await mkdir(installed, { recursive: true });
  const { file, bytes } = await packed(folder);
  tarballBytes = bytes;
  await output("tar", ["-xzf", file, "--strip-components=1", "-C", installed], folder);
  // `@types/node` is what a TypeScript project on Node has of its own.
  const peers = Object.keys(manifest.peerDependencies);
  const required = peers.filter((name) => !Object.hasOwn(manifest.peerDependenciesMeta, name));
  for (const name of [...Object.keys(manifest.dependencies), ...required, "@types/node"]) {
    await link(name, consumer);
  }
  await writeFile(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
  project = join(folder, "project");
  await cp(join(installed, "examples"), join(project, "examples"), { recursive: true });
  for (const name of ["ai", "zod", "hono", "@hono/node-server", "rolldown", "react", "react-dom"])
    await link(name, project);
  await link("@ai-sdk/react", project);
  await symlink(installed, join(project, "node_modules/turnlog"));
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("the published package", () => {
  it("has at most 2.5 MB", () => {
    expect(tarballBytes).toBeGreaterThan(0);
    expect(tarballBytes).toBeLessThanOrEqual(2_500_000);
  });

  // Each is loaded with the declared dependencies alone where its names are given types.
  it.each(sampled(entryPoints, 1))("%s loads from few files of ours", async (entryPoint) => {
    const files = await filesLoadedBy(entryPoint);
    const ours = files.filter((file) => file.startsWith("node_modules/turnlog/"));
    expect(ours.length).toBeGreaterThan(0);
    expect(ours.length).toBeLessThanOrEqual(44);
  });

  it("turnlog loads at most 1.4 MB of ours, builds at most 900 schemas, and loads the AI SDK's providers, MCP and the prices of models when they are needed", async () => {
    const files = await filesLoadedBy("turnlog");
    const ours = files.filter((file) => file.startsWith("node_modules/turnlog/"));
    const sizes = await Promise.all(
      ours.map(async (file) => (await stat(join(consumer, file))).size),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1_400_000);
    const later =
      /^node_modules\/(?:ai|@ai-sdk\/(?:openai|google)|@modelcontextprotocol|@pydantic)\//;
    expect(files.filter((file) => later.test(file))).toEqual([]);
    expect(files.some((file) => file.startsWith("node_modules/zod/"))).toBe(true);
    const program = `
      let schemas = 0;
      globalThis.__zod_globalConfig = { postProcessor: () => { schemas += 1; } };
      await import("turnlog");
      console.log(schemas);`;
    const schemas = Number(await told(program));
    expect(schemas).toBeGreaterThan(50);
    expect(schemas).toBeLessThanOrEqual(900);
  });

  it("is of use where LevelDB's native code cannot be loaded, until a store on disk is opened", async () => {
    const program = `
      import { registerHooks } from "node:module";
      registerHooks({
        resolve(name, context, next) {
          if (name === "level") throw new Error("No native code.");
          return next(name, context);
        },
      });
      const { createRuntime, openLog } = await import("turnlog");
      const { scriptedModel } = await import("turnlog/testing");
      const runtime = await createRuntime({ memory: true, agent: { model: scriptedModel(["Yes."]) } });
      const session = await runtime.session("s");
      const { text } = await (await session.send("Go.")).result;
      await runtime.close();
      const refused = await openLog({ dir: "nowhere" }).catch(({ message }) => message);
      console.log(text, refused);`;
    const said = await told(program);
    expect(said).toMatch(/^Yes\. The store in nowhere could not be opened \(No native code\.\)/);
  });

  it("gives a type to every name that an entry point exports, and to what a library makes with it and exports itself", async () => {
    const said = await told(`
      const names = ${JSON.stringify(entryPoints)}.map(async (name) => Object.keys(await import(name)));
      console.log(JSON.stringify(await Promise.all(names)));`);
    const exported = z.array(z.array(z.string()).min(1)).parse(JSON.parse(said));
    const lines = exported.map((names, index) => {
      const list = names.map((name) => `${name} as ${name}${index}`).join(", ");
      const used = names.map((name) => `${name}${index}`).join(", ");
      return `import { ${list} } from "${entryPoints[index]}";\nvoid [${used}];\n`;
    });
    await writeFile(join(consumer, "main.ts"), lines.join(""));
    await writeFile(join(consumer, "library.ts"), library);
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "esnext.disposable"],
      types: ["node"],
      strict: true,
      noEmit: true,
      declaration: true,
      // Our own declarations are checked, those of the dependencies are theirs to answer for.
      skipLibCheck: false,
    };
    const project = JSON.stringify({ compilerOptions, files: ["main.ts", "library.ts"] });
    await writeFile(join(consumer, "tsconfig.json"), project);
    const tsc = join(root, "node_modules/.bin/tsc");
    const found = await output(tsc, ["--pretty", "false"], consumer).catch(String);
    const dependencies = relative(consumer, await realpath(join(root, "node_modules")));
    const errors = found.split("\n").filter((line) => line.includes("error TS"));
    expect(errors.filter((line) => !line.startsWith(dependencies))).toEqual([]);
  });

  it("has a turnlog command that tells its version", async () => {
    const command = join(consumer, "node_modules/turnlog/bin/turnlog.cjs");
    const said = await output(process.execPath, [command, "--version"], consumer);
    expect(said.trim()).toBe(manifest.version);
  });

  it.each(sampled(uncaughtPrograms, 1))(
    "shows an uncaught $code with its next step before a screen is full",
    async ({ code, program, next }) => {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
        cwd: consumer,
        stdio: ["ignore", "ignore", "pipe"],
      });
      const [said] = await Promise.all([text(child.stderr), once(child, "exit")]);
      const lines = said.split("\n");
      expect(child.exitCode).toBe(1);
      expect(lines.slice(0, 15).join("\n")).toContain(next);
      expect(said).toContain(`code: '${code}'`);
      expect(said.length).toBeLessThan(3500);
      expect(lines.filter((line) => line.length >= 400)).toEqual([]);
    },
  );

  it("names the package to install where a feature needs one that is not there", async () => {
    const warnings = async (provider: string): Promise<string> => {
      const program = `
      import { createRuntime } from "turnlog";
      import { scriptedModel } from "turnlog/testing";
      const mcp = { files: { command: "none" } };
      const model = { ...scriptedModel(["Yes."]), provider: "${provider}" };
      await using runtime = await createRuntime({ memory: true, mcp, agent: { model } });
      const session = await runtime.session("s");
      await (await session.send("Go.")).result;`;
      const eager = `process.on("warning", ({ message }) => console.log(message));${program}`;
      return await told(eager);
    };
    const said = await warnings("openai");
    expect(said).toContain("Run `npm install @modelcontextprotocol/client`");
    expect(said).toContain("Run `npm install @pydantic/genai-prices`");
    // The scripted model and the offline one have no price.
    expect(await warnings("turnlog")).not.toContain("genai-prices");
  });

  it("runs the command with nothing but the required peers: a turn, and what was said", async () => {
    const command = join(consumer, "node_modules/turnlog/bin/turnlog.cjs");
    const run = (...args: readonly string[]): Promise<string> =>
      output(process.execPath, [command, ...args], consumer);
    expect(await run("--session", "one", "--model", "offline", "hello")).not.toBe("");
    expect(await run("show", "one")).toContain("hello");
  });

  it("names the package that editors need", async () => {
    const command = join(consumer, "node_modules/turnlog/bin/turnlog.cjs");
    const child = spawn(process.execPath, [command, "acp"], { cwd: consumer });
    const [said] = await Promise.all([text(child.stderr), once(child, "exit")]);
    expect(said).toContain("Run `npm install @agentclientprotocol/sdk`");
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

  it("carries its build, its guides and its examples, and no settings", async () => {
    const installed = await readdir(join(consumer, "node_modules/turnlog"));
    expect(installed.toSorted()).toEqual([
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "UPGRADING.md",
      "bin",
      "dist",
      "docs",
      "examples",
      "package.json",
    ]);
  });

  it("has files of the listed kinds only, and one picture", async () => {
    const files = await readdir(join(consumer, "node_modules/turnlog"), { recursive: true });
    const allowed = [
      /^(?:LICENSE|README\.md|SECURITY\.md|UPGRADING\.md|package\.json)$/,
      /^bin\/[\w-]+\.cjs$/,
      /^docs\/[\w-]+\.md$/,
      /^docs\/images\/(?:kill-and-resume\.svg|studio-prompt-light\.webp)$/,
      /^examples\/(?:[\w.[\]-]+\/)*[\w.-]+\.(?:tsx?|mjs|md|json|jsonl|yaml)$/,
      /^dist\/cli\/[\w.-]+\.js$/,
      /^dist\/browser\/[\w./-]+\.js$/,
      /^dist\/(?:public|chunks)\/[\w.-]+\.js$/,
      /^dist\/(?!cli\/|studio\/|browser\/)[\w/-]+\.d\.ts$/,
      /^dist\/studio\/(?:index\.html|[\w./-]+\.(?:js|css|svg|woff2|webp))$/,
    ];
    const installed = files.filter((file) => /\.\w+$|^LICENSE$/.test(file));
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter((file) => !allowed.some((kind) => kind.test(file)))).toEqual([]);
  });
});

/** The programs of the cookbook run from their sources, in `test/examples/cookbook.test.ts`. */
const programs: Readonly<Record<string, readonly string[]>> = {
  quickstart: ["It is sunny in Ulm.", "Turn 1 of this session, 9 tokens"],
  failover: [
    "second: Here I am.",
    "second: Here I am.",
    "first is half-open after 2 failures",
    "first → second: overloaded",
    "The river is long.",
  ],
};

describe("the examples of the package, copied into a project", () => {
  it.concurrent.each(Object.entries(programs))(
    "%s.ts prints what it promises",
    async (name, lines) => {
      const said = await output(process.execPath, [join(project, `examples/${name}.ts`)], project);
      expect(said.trimEnd().split("\n")).toEqual(lines);
    },
  );

  it.skipIf(!all)(
    `the chat server serves its page, and a session to \`useChat\`${inAll}`,
    async () => {
      const options = { cwd: project, env: cleanEnvironment({ PORT: "0", TURNLOG_DIR: "chats" }) };
      const program = join(project, "examples/chat-server/server.ts");
      const server = spawn(process.execPath, [program], options);
      const [line] = z.tuple([z.instanceof(Buffer)]).parse(await once(server.stdout, "data"));
      const url = line.toString().trim();
      expect(await (await fetch(url)).text()).toContain('src="page.js"');
      expect(await (await fetch(`${url}/page.js`)).text()).toContain("sendMessage");
      const client = createClient({ baseUrl: url });
      const message: UIMessage = {
        id: "m",
        role: "user",
        parts: [{ type: "text", text: "Hello" }],
      };
      const stream = await chatTransport(client).sendMessages({
        chatId: "first",
        messages: [message],
        trigger: "submit-message",
        messageId: undefined,
        abortSignal: undefined,
      });
      const replies = await Array.fromAsync(readUIMessageStream({ stream }));
      const { messages } = await client.session("first").messages();
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(messages[1]?.parts).toEqual(replies.at(-1)?.parts);
      server.kill("SIGTERM");
      expect(await once(server, "exit")).toEqual([0, null]);
    },
  );
});
