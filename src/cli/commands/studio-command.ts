/** `turnlog studio`: serves the studio for this machine and opens a browser, until a signal ends it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { TurnlogError } from "../../events/index.ts";
import type { RuntimeOptions } from "../../runtime/index.ts";
import { serveElsewhere, serveNode, type NodeServer } from "../../server/index.ts";
import { createRuntime } from "../../sharing/index.ts";
import { DONE, reportError, UsageError, type ExitCode } from "../output/error-report.ts";
import { jsonText } from "../output/visible-text.ts";
import { writeLine, type Output } from "../output/output.ts";
import { keysIn, ownerOf, runtimeStore } from "../settings/store-folder.ts";
import { listening, stopSignal } from "./serve-command.ts";
import type { Given } from "./option-values.ts";
import type { studioOptions } from "./command-options.ts";

type Options = Given<typeof studioOptions>;

export async function studio(options: Options, output: Output): Promise<ExitCode> {
  const { debug, demo, takeOver, port } = options;
  if (demo && options.agent !== undefined)
    throw new UsageError("--demo has an agent of its own: leave --agent out.");
  const agent = await agentOf(options);
  await buildOnce(output);
  await using temporary = demo ? await temporaryFolder() : undefined;
  const dir = temporary?.path ?? resolve(options.dir);
  const remote = demo ? undefined : options.remote;
  if (temporary === undefined && remote === undefined && !existsSync(dir))
    throw new UsageError(
      `There is no store at ${options.dir}. Name another with --dir, or look at one with --demo.`,
    );
  if (temporary !== undefined) {
    const { makeDemoStore } = await import("../demo/demo-store.ts");
    await makeDemoStore(dir, Date.now());
  }
  const report = (error: unknown): void => void reportError(output.progress, error, debug);
  const owner = temporary === undefined && !takeOver ? await ownerOf({ dir, remote }) : undefined;
  if (owner !== undefined) {
    if (agent !== undefined)
      throw new UsageError(
        `--agent would have no effect: ${owner.name} has the store open, and its agent answers. Leave it out, or close the store there.`,
      );
    // A server may have no studio, or not for everyone: better said here than on an empty page.
    await owner.client.http.json({ path: "/api/studio/about" });
    const start = () => serveElsewhere(owner.fetch, { port, onError: report });
    return await shown(await listening(port, start), options, output);
  }
  const keys = keysIn(options.keys, dir);
  await using store = await runtimeStore({ dir, remote, takeOver });
  await using runtime = await createRuntime({
    ...store.options,
    ...(keys === undefined ? {} : { encryption: { keys } }),
    agent: agent ?? noAgent,
    recovery: "continue",
    onWarning: report,
  });
  const mode = agent === undefined ? "read-only" : true;
  const start = () => serveNode(runtime, { port, studio: mode, onError: report });
  return await shown(await listening(port, start), options, output);
}

/** Tells the address, opens a browser there, and serves until a signal. */
async function shown(
  server: NodeServer,
  { session, json, open }: Options,
  output: Output,
): Promise<ExitCode> {
  const hash = session === undefined ? "" : `#/sessions/${encodeURIComponent(session)}`;
  const url = `${server.studioUrl()}${hash}`;
  await writeLine(
    output.data,
    json ? jsonText({ event: "studio", url }) : `The studio is at ${url}`,
  );
  if (open && output.data.isTerminal) openBrowser(url);
  const signal = await stopSignal();
  await server.close(`the studio was stopped (${signal})`, 500);
  return DONE;
}

/** The agent of a studio without one: the studio refuses whatever would run it. */
function noAgent(): never {
  throw new TurnlogError(
    "AGENT_MISSING",
    "The studio was started without an agent, so nothing can run. Start it with --agent <module>.",
  );
}

async function agentOf({ agent, demo }: Options): Promise<RuntimeOptions["agent"]> {
  if (demo) return (await import("../demo/demo-agent.ts")).demoAgent();
  if (agent === undefined) return undefined;
  return await (await import("../settings/agent-module.ts")).agentOf(agent);
}

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "turnlog-demo-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** A clone has no built studio, so its first use builds it. The package contains a built one. */
async function buildOnce({ progress }: Output): Promise<void> {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const program = join(root, "studio", "build.ts");
  if (existsSync(join(root, "dist", "studio", "index.html")) || !existsSync(program)) return;
  await writeLine(progress, "Building the studio, once…");
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "inherit"] });
  await once(child, "exit");
  if (child.exitCode !== 0)
    throw new UsageError("The studio could not be built: `npm run build:studio` says why.");
}

/** Best effort: the address is printed too. */
function openBrowser(url: string): void {
  const { platform } = process;
  const command = platform === "darwin" ? "open" : platform === "win32" ? "explorer" : "xdg-open";
  const child = spawn(command, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
