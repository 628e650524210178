/** `turnlog chat` and `turnlog rerun`: report every error in the options before the store is opened. */

import { stat } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { isatty } from "node:tty";
import { defined, hasCode, parseSessionId, TurnlogError } from "../../events/index.ts";
import { runChat, type ChatRun } from "../chat/chat-run.ts";
import { changedAgent } from "../chat/model/changed-agent.ts";
import { chooseModel } from "../chat/model/model-choice.ts";
import { isAddress, isFile } from "../chat/line/mentioned-files.ts";
import { forkName, newSessionName } from "../chat/host/resumed-session.ts";
import {
  openSessions,
  openStore,
  ownerOf,
  storeName,
  type SessionsPlace,
} from "../settings/store-folder.ts";
import { instructionsIn } from "../settings/agent-module.ts";
import { readEnvironment } from "../settings/environment.ts";
import { rememberedModel } from "../chat/model/chat-models.ts";
import { mcpServers } from "../settings/mcp-config.ts";
import { humanPace, type Given } from "./option-values.ts";
import type { agentOptions, chatOptions, rerunOptions } from "./command-options.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import { type ExitCode, refuseIdle, UsageError } from "../output/error-report.ts";
import type { Output } from "../output/output.ts";
import { receiveInput } from "../../media/index.ts";
import { listSessions } from "../../state/index.ts";

type AgentOptions = Given<typeof agentOptions>;

type Settings = Pick<
  ChatRun,
  | "startedBy"
  | "choice"
  | "instructions"
  | "compaction"
  | "canAsk"
  | "mcp"
  | "pace"
  | "editor"
  | "showsNotices"
  | "choiceOf"
>;

export async function chat(
  words: readonly string[],
  options: Given<typeof chatOptions>,
  output: Output,
): Promise<ExitCode> {
  const { session: named, attach: files = [] } = options;
  const findOwner = (): Promise<StoreOwner | undefined> => heededOwner(options);
  const owner = await findOwner();
  const settings = await settingsOf(options, output, owner);
  const session = options.continue ? await lastSession(options) : sessionName(named);
  await assertFiles(files);
  const text = await onlyMessage(words, settings.canAsk, files.length > 0);
  // Files are read first: an error must not leave an empty session.
  const message = text === undefined ? text : await receiveInput(session, { text, files }, {});
  const isNamed = named !== undefined;
  const asked = { session, isNamed, message, attach: files, owner, findOwner };
  return await runChat({ ...options, ...settings, ...asked }, output);
}

/** Runs a turn again with a live model, in a fork. @throws UsageError; TurnlogError as {@link rerunTurn} */
export async function rerun(
  session: string,
  { position, step, id, agent: file, instructions, ...options }: Given<typeof rerunOptions>,
  output: Output,
): Promise<ExitCode> {
  if (position !== undefined && step !== undefined)
    throw new UsageError("--position and --step both name the start: give one of them.");
  if (file !== undefined)
    refuseIdle({ "--allow-write": options.allowWrite }, " is for the chat's agent: leave it out.");
  const findOwner = (): Promise<StoreOwner | undefined> =>
    heededOwner(options, {
      "--agent": file !== undefined,
      "--instructions": instructions !== undefined,
    });
  const owner = await findOwner();
  // Fails without a store; the chat would create one.
  if (owner === undefined) await (await openStore(options, { readOnly: true })).close();
  const { model } = options;
  const settings = {
    // A module has its own model.
    ...(await settingsOf(file === undefined ? options : { ...options, model: "offline" }, output)),
    ...(file === undefined
      ? instructions && { instructions: await instructionsIn(instructions) }
      : { agent: (await changedAgent(file, defined({ model, instructions }))).agent }),
  };
  const fork = id === undefined ? forkName(session) : sessionName(id);
  const again = { session: fork, isNamed: id !== undefined, message: undefined, attach: [] };
  const place = { session, as: fork, position, step };
  const host = { owner, findOwner };
  return await runChat({ ...options, ...settings, ...again, ...host, rerun: place }, output);
}

/** The process that has the store open. @throws UsageError for options about an agent, which is that process's */
async function heededOwner(
  options: AgentOptions,
  others: Readonly<Record<string, boolean>> = {},
): Promise<StoreOwner | undefined> {
  const owner = await ownerOf(options);
  if (owner === undefined) return undefined;
  refuseIdle(
    {
      ...others,
      "--model": options.model !== undefined,
      "--allow-write": options.allowWrite,
      "--mcp": options.mcp !== undefined,
      "--mcp-config": options.mcpConfig !== undefined,
      "--hash-chain": options.hashChain,
      "--durability": options.durability !== "sync",
      "--pace": options.pace !== undefined,
    },
    ` would have no effect: ${owner.name} has the store open, and its agent answers. Leave it out, or close the store there.`,
  );
  return owner;
}

async function settingsOf(
  options: AgentOptions,
  { progress }: Output,
  owner?: StoreOwner,
): Promise<Settings> {
  const { model, json, mcp: commands = [], mcpConfig: file } = options;
  const environment = readEnvironment(process.env);
  const { startedBy, instructions, compaction, editor, showsNotices } = environment;
  // The process that has the store open answers by its own model.
  const remembered = owner === undefined ? await rememberedModel() : undefined;
  const choice = chooseModel(model, environment, remembered);
  // A program that reads JSON cannot answer questions.
  const canAsk = isatty(0) && progress.isTerminal && !json;
  const mcp = await mcpServers({ commands, file, environment: process.env });
  // Only a person sees the words come.
  const pace = options.pace ?? (canAsk ? humanPace : 0);
  const choiceOf = (name: string) => chooseModel(name, environment);
  return {
    startedBy,
    choice,
    choiceOf,
    instructions,
    compaction,
    canAsk,
    mcp,
    pace,
    editor,
    showsNotices,
  };
}

/** @throws UsageError for a file that cannot be attached */
async function assertFiles(sources: readonly string[]): Promise<void> {
  for (const source of sources) {
    if (isAddress(source) || (await isFile(source))) continue;
    throw new UsageError(`--attach ${source}: ${await whyNotAFile(source)}.`);
  }
}

async function whyNotAFile(path: string): Promise<string> {
  try {
    return (await stat(path)).isDirectory() ? "that is a folder" : "that is not a regular file";
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "there is no such file";
    return error instanceof Error ? error.message : String(error);
  }
}

function sessionName(named: string | undefined): string {
  if (named === undefined) return newSessionName(new Date());
  try {
    return parseSessionId(named);
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

/**
 * For `--continue`: the session written to last that is not closed.
 * @throws TurnlogError `SESSION_NOT_FOUND`, and what `openSessions` throws
 */
async function lastSession(folder: SessionsPlace): Promise<string> {
  await using log = await openSessions(folder, { readOnly: true, withoutKey: "redact" });
  const found = await Array.fromAsync(listSessions(log));
  const [last] = found
    .filter(({ status }) => status !== "closed")
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
  if (last !== undefined) return last.session;
  throw new TurnlogError(
    "SESSION_NOT_FOUND",
    `${storeName(folder)} has no session to continue. Leave out --continue to begin one.`,
  );
}

/** The message from the command line, else from a pipe; undefined for a conversation in a terminal. */
async function onlyMessage(
  words: readonly string[],
  canAsk: boolean,
  hasFiles: boolean,
): Promise<string | undefined> {
  const written = words.join(" ").trim();
  if (written !== "") return written;
  if (canAsk) return undefined;
  const piped = isatty(0) ? "" : (await readAll(process.stdin)).trim();
  // A message may consist of files only.
  if (piped !== "" || hasFiles) return piped;
  throw new UsageError(
    'There is no message. Write one after the command, as in turnlog "which files mention zod?", or pipe it in.',
  );
}
