/** `turnlog serve`: the sessions of a store over HTTP, until a signal ends it. */

import { randomBytes } from "node:crypto";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { hasCode } from "../../events/index.ts";
import type { Agent } from "../../agent/index.ts";
import type { Runtime, RuntimeOptions } from "../../runtime/index.ts";
import { createRuntime } from "../../sharing/index.ts";
import { serveNode, type NodeServer, type ServeOptions } from "../../server/index.ts";
import { loadedChatAgent, type AgentPartsOptions } from "../chat/model/chat-agent.ts";
import { chooseModel } from "../chat/model/model-choice.ts";
import {
  DONE,
  refuseIdle,
  reportError,
  UsageError,
  type ExitCode,
} from "../output/error-report.ts";
import { jsonText } from "../output/visible-text.ts";
import { writeLine, type Output } from "../output/output.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import { keysIn, ownerOf, runtimeStore } from "../settings/store-folder.ts";
import { askingFirst, mcpServers } from "../settings/mcp-config.ts";
import { readEnvironment } from "../settings/environment.ts";
import type { Given } from "./option-values.ts";
import type { servedAgentOptions, serveOptions } from "./command-options.ts";

type Options = Given<typeof serveOptions>;
/** The options of every command that has an agent answer others. */
type AgentChoice = Given<typeof servedAgentOptions>;

export async function serve(options: Options, output: Output): Promise<ExitCode> {
  const { json, debug, remote } = options;
  assertForDatabase(options);
  const dir = resolve(options.dir);
  const agent = (await agentMaker(options, dir))(process.cwd());
  const report = async (error: unknown): Promise<void> => {
    await reportError(output.progress, error, debug);
  };
  await using served = await servedRuntime(options, {
    agent,
    ...(options.leaveTurns ? { resume: "all" as const } : {}),
    onWarning: (error) => void report(error),
  });
  const { runtime } = served;
  const tokenFile = join(dir, "server.token");
  const token = options.token ?? (await keptToken(tokenFile));
  const settings: ServeOptions = {
    ...listeningAt(options),
    studio: true,
    token,
    onError: (error) => void report(error),
    onRequest: (entry) => {
      const { time, method, path, status, ms, session = "", code = "" } = entry;
      const line = [new Date(time).toISOString(), method, path, status, `${ms} ms`, session, code];
      void (
        json
          ? writeLine(output.data, jsonText({ event: "request", ...entry }))
          : writeLine(output.progress, line.filter((one) => one !== "").join(" "))
      ).catch(() => {});
    },
  };
  const server = await listening(options.port, () => serveNode(runtime, settings));
  const isKept = options.token === undefined;
  const told = isKept ? { tokenFile } : {};
  const where = isKept ? `The token is in ${tokenFile}.` : tokenWords[String(token === false)];
  await writeLine(
    output.data,
    json
      ? jsonText({ event: "serving", url: server.url, ...told })
      : `Serving ${remote === undefined ? options.dir : "the database"} at ${server.url}. ${where}`,
  );
  const signal = await stopSignal();
  const reason = `the server was stopped (${signal})`;
  if (json) await writeLine(output.data, jsonText({ event: "stopping", signal }));
  else await writeLine(output.progress, `Stopping: ${signal}. A second signal exits immediately.`);
  await server.close(reason);
  return DONE;
}

const tokenWords: Readonly<Record<string, string>> = {
  true: "There is no token: every program on this machine may use it.",
  false: "The token is the one that you gave.",
};

/** Each process of a database would have a different token, and hands over its turns without this option. */
function assertForDatabase(options: Options): void {
  if (options.remote === undefined) return;
  refuseIdle(
    { "--leave-turns": options.leaveTurns, "--keys": options.keys !== undefined },
    " works only for a store in a folder, not with --postgres.",
  );
  if (options.token === undefined)
    throw new UsageError(
      "With --postgres all processes need the same token: give --token, or TURNLOG_TOKEN.",
    );
}

/** @throws UsageError if it cannot listen there */
export async function listening(
  port: number,
  start: () => Promise<NodeServer>,
): Promise<NodeServer> {
  try {
    return await start();
  } catch (error) {
    if (hasCode(error, "EADDRINUSE"))
      throw new UsageError(`Port ${port} is taken. Name another one with --port.`);
    if (hasCode(error, "ENOTFOUND", "EADDRNOTAVAIL", "EACCES"))
      throw new UsageError(`The server cannot listen there: ${String(error)}`);
    throw error;
  }
}

function listeningAt({ port, host, hosts, origins }: Options): ServeOptions {
  return {
    port,
    host,
    ...(hosts === undefined ? {} : { hosts: ["localhost", "127.0.0.1", "[::1]", ...hosts] }),
    ...(origins === undefined ? {} : { origins }),
  };
}

/** The token of this store. It is made once, so that clients stay signed in when the server restarts. */
async function keptToken(file: string): Promise<string> {
  try {
    const token = (await readFile(file, "utf8")).trim();
    // Another program may have copied the folder with other rights.
    await chmod(file, 0o600);
    if (token !== "") return token;
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  const token = randomBytes(32).toString("base64url");
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}

/**
 * The agent of a module, or the chat's, whose tools see a folder.
 * @throws UsageError for options of the chat's agent besides `--agent`
 */
export async function agentMaker(
  options: AgentChoice,
  dir: string,
): Promise<(folder: string, readText?: AgentPartsOptions["readText"]) => Agent> {
  const { agent: file, model, allowWrite } = options;
  if (file !== undefined) {
    refuseIdle(
      { "--model": model !== undefined, "--allow-write": allowWrite },
      " would have no effect: --agent names the agent.",
    );
    const agent = await (await import("../settings/agent-module.ts")).agentOf(file);
    return () => agent;
  }
  const environment = readEnvironment(process.env);
  const { instructions, compaction } = environment;
  return await loadedChatAgent({
    choice: chooseModel(model, environment),
    pace: options.pace ?? 0,
    store: dir,
    keys: options.keys === undefined ? undefined : resolve(options.keys),
    allowWrite,
    // Pages and editors answer approvals.
    canAsk: true,
    instructions,
    compaction,
  });
}

export interface ServedRuntime extends AsyncDisposable {
  readonly runtime: Runtime;
}

/** @throws UsageError if an agent is named besides a server: the server's own agent answers for its sessions */
export function assertOwnAgent({
  remote,
  agent,
  model,
}: Pick<AgentChoice, "remote" | "agent" | "model">): void {
  if (remote?.kind === "server")
    refuseIdle(
      { "--agent": agent !== undefined, "--model": model !== undefined },
      " would have no effect: the server's agent answers.",
    );
}

/** The runtime of a command that answers others. @throws TurnlogError as `createRuntime` */
export async function servedRuntime(
  options: Pick<Options, "dir" | "remote" | "takeOver" | "durability" | "keys" | "hashChain"> &
    Pick<Options, "mcp" | "mcpConfig">,
  given: Pick<RuntimeOptions, "resume" | "onWarning"> & {
    readonly agent: NonNullable<RuntimeOptions["agent"]>;
  },
): Promise<ServedRuntime> {
  const keys = keysIn(options.keys, resolve(options.dir));
  const { mcp: commands = [], mcpConfig: file } = options;
  const mcp = askingFirst(await mcpServers({ commands, file, environment: process.env }));
  const store = await runtimeStore(options);
  try {
    const runtime = await createRuntime({
      ...store.options,
      hashChain: options.hashChain,
      ...(keys === undefined ? {} : { encryption: { keys } }),
      mcp,
      // A turn that a killed or stopped process left continues when its client comes back.
      recovery: "continue",
      ...given,
    });
    return {
      runtime,
      [Symbol.asyncDispose]: async () => {
        await using _ = store;
        await runtime.close();
      },
    };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

/** Times and milliseconds to wait for a process that is only opening or closing the store. */
const TRIES = 50;
const WAIT_MS = 100;

/** The process that has the store open, or what `open` makes of it in this one. @throws TurnlogError `LOG_LOCKED` */
export async function ownerOr<Opened>(
  place: Parameters<typeof ownerOf>[0],
  open: () => Promise<Opened>,
): Promise<StoreOwner | Opened> {
  for (let tries = 1; ; tries++) {
    const owner = await ownerOf(place);
    if (owner !== undefined) return owner;
    try {
      return await open();
    } catch (error) {
      if (!hasCode(error, "LOG_LOCKED") || tries === TRIES) throw error;
      await delay(WAIT_MS);
    }
  }
}

/** Resolves at the first signal; the second one ends the process. */
export async function stopSignal(): Promise<string> {
  const { promise, resolve: stop } = Promise.withResolvers<string>();
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const signal of signals) process.once(signal, () => stop(signal));
  const signal = await promise;
  for (const other of signals)
    process.once(other, () => process.exit(other === "SIGINT" ? 130 : 143));
  return signal;
}
