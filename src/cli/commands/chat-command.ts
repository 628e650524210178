/**
 * `turnlog chat` and `turnlog rerun`: find out what is asked for, and all that can be wrong about it
 * before anything is made. `chat-run.ts` does it.
 */

import { stat } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { isatty } from "node:tty";
import { z } from "zod";
import { hasCode, parseSessionId, TurnlogError } from "../../events/index.ts";
import {
  runChat,
  type ChatRun,
  chooseModel,
  isAddress,
  isFile,
  newSessionName,
} from "../chat/index.ts";
import {
  readEnvironment,
  mcpServers,
  openSessions,
  openStore,
  type SessionsFolder,
  sessionOptions,
} from "../settings/index.ts";
import { type ExitCode, type Output, UsageError } from "../output/index.ts";
import { receiveInput } from "../../media/index.ts";
import { listSessions } from "../../state/index.ts";

const optionsSchema = z.object({
  ...sessionOptions,
  json: z.boolean().default(false),
  debug: z.boolean().default(false),
  session: z.string().optional(),
  continue: z.boolean().default(false),
  model: z.string().optional(),
  attach: z.array(z.string()).default([]),
  allowWrite: z.boolean().default(false),
  durability: z.enum(["sync", "os"]),
  hashChain: z.boolean().default(false),
  mcp: z.array(z.string()).default([]),
  mcpConfig: z.string().optional(),
  offlineDelayMs: z.int().nonnegative().default(0),
});

type Settings = Pick<
  ChatRun,
  "startedBy" | "choice" | "instructions" | "compaction" | "canAsk" | "mcp"
>;

/** @throws UsageError; TurnlogError as `createRuntime` and the turns do */
export async function chat(
  words: readonly string[],
  given: unknown,
  output: Output,
): Promise<ExitCode> {
  const { session: asked, continue: goesOn, ...options } = optionsSchema.parse(given);
  const settings = await settingsOf(options, output);
  const session = goesOn ? await lastSession(options) : sessionName(asked);
  await assertFiles(options.attach);
  const { attach: files } = options;
  const text = await onlyMessage(words, settings.canAsk, files.length > 0);
  // Read before there is a session: one in which nothing was said would be left behind.
  const message = text === undefined ? text : await receiveInput(session, { text, files }, {});
  const isNamed = asked !== undefined;
  return await runChat({ ...options, ...settings, session, isNamed, message }, output);
}

const rerunSchema = optionsSchema.omit({ session: true, continue: true }).extend({
  at: z.int().positive().optional(),
  step: z.int().positive().optional(),
  as: z.string().optional(),
});

/**
 * `turnlog rerun`: a turn again, with a live model, in a fork. As a chat, but for what is asked.
 * @throws UsageError; TurnlogError as {@link rerunTurn}
 */
export async function rerun(session: string, given: unknown, output: Output): Promise<ExitCode> {
  const { at, step, as, ...options } = rerunSchema.parse(given);
  if (at !== undefined && step !== undefined)
    throw new UsageError("--at and --step both say where to begin: give one of them.");
  // Nothing is made where there is no store.
  await (await openStore(options, { readOnly: true })).close();
  const settings = await settingsOf(options, output);
  const fork = sessionName(as);
  const again = { session: fork, isNamed: as !== undefined, message: undefined };
  const place = { session, as: fork, at, step };
  return await runChat({ ...options, ...settings, ...again, rerun: place }, output);
}

/** Who answers, what it is told, which servers it has, and whether somebody can be asked. */
async function settingsOf(
  options: Pick<z.infer<typeof optionsSchema>, "model" | "json" | "mcp" | "mcpConfig">,
  { progress }: Output,
): Promise<Settings> {
  const { model, json, mcp: commands, mcpConfig: file } = options;
  const environment = readEnvironment(process.env);
  const { startedBy, instructions, compaction } = environment;
  const choice = chooseModel(model, environment);
  // Programs read JSON, and nobody can ask a program.
  const canAsk = isatty(0) && progress.isTerminal && !json;
  const mcp = await mcpServers({ commands, file, environment: process.env });
  return { startedBy, choice, instructions, compaction, canAsk, mcp };
}

/** Before anything is made for a message that cannot be sent. */
async function assertFiles(sources: readonly string[]): Promise<void> {
  for (const source of sources) {
    if (isAddress(source) || (await isFile(source))) continue;
    throw new UsageError(`--attach ${source}: ${await whyNotAFile(source)}.`);
  }
}

async function whyNotAFile(path: string): Promise<string> {
  try {
    return (await stat(path)).isDirectory() ? "that is a folder" : "that is no regular file";
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "there is no such file";
    return error instanceof Error ? error.message : String(error);
  }
}

function sessionName(asked: string | undefined): string {
  if (asked === undefined) return newSessionName(new Date());
  try {
    return parseSessionId(asked);
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

/**
 * The one of the store that was written to last, of those that are not closed.
 * @throws TurnlogError `SESSION_NOT_FOUND` where there is none, and as `openSessions`
 */
async function lastSession(folder: SessionsFolder): Promise<string> {
  await using log = await openSessions(folder, { readOnly: true, withoutKey: "redact" });
  const found = await Array.fromAsync(listSessions(log));
  const [last] = found
    .filter(({ status }) => status !== "closed")
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
  if (last !== undefined) return last.session;
  throw new TurnlogError(
    "SESSION_NOT_FOUND",
    `The store in ${folder.dir} has no session to go on with. Without --continue a new one is made.`,
  );
}

/** From the command line, else from a pipe; undefined when a terminal is to ask for it. */
async function onlyMessage(
  words: readonly string[],
  canAsk: boolean,
  hasFiles: boolean,
): Promise<string | undefined> {
  const written = words.join(" ").trim();
  if (written !== "") return written;
  if (canAsk) return undefined;
  const piped = isatty(0) ? "" : (await readAll(process.stdin)).trim();
  // Files can speak for themselves.
  if (piped !== "" || hasFiles) return piped;
  throw new UsageError(
    'There is no message. Write one after the command, as in turnlog "which files mention zod?", or pipe it in.',
  );
}
