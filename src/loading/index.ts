/**
 * The functions of the entry `turnlog` that work on a store. Each loads its module at the first call, so that
 * importing the package costs little. The library itself imports the modules.
 */

import { assertNodeVersion, OneByOne, withPlainEvents } from "../shared/index.ts";
import type * as stored from "./stored-sessions.ts";

function load(): Promise<typeof stored> {
  assertNodeVersion();
  return import("./stored-sessions.ts");
}

/**
 * Opens the log of a store. A store that is refused keeps its files as they were.
 * @example
 * await using log = await openLog({ dir: ".turnlog", readOnly: true });
 * for await (const { session, revision } of log.list()) console.log(session, revision);
 * @throws TurnlogError `LOG_NOT_FOUND` (with `create: false` or `readOnly`), `LOG_LOCKED`,
 * `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_TOO_NEW`, `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`
 */
export const openLog: typeof stored.openLog = async (...given) =>
  await (await load()).openLog(...given);

/**
 * Opens a log that exists until it is closed.
 * @example
 * await using log = await openMemoryLog();
 */
export const openMemoryLog: typeof stored.openMemoryLog = async (...given) =>
  await (await load()).openMemoryLog(...given);

/**
 * Deletes the blobs that no session of the log uses. Sessions may keep running.
 * @example
 * const { removed, bytes } = await collectBlobs(log, folderBlobs(".turnlog/blobs"));
 * @throws TurnlogError `LOG_DAMAGED` and other errors of reading; nothing is deleted then
 */
export const collectBlobs: typeof stored.collectBlobs = async (log, ...given) =>
  await (await load()).collectBlobs(withPlainEvents(log), ...given);

/**
 * Checks the whole log of a session: sequence, checksums and schemas, the order of turns and steps, that each
 * input is delivered exactly once and every call ends, token sums, the digest of every prompt, the hash chain,
 * the blobs, the link of a fork, and the stored states. Stops at an event that cannot be read.
 * @example
 * const { problems } = await verifySession(log, "s-1");
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `LOG_FAILED`, `LOG_CLOSED`
 */
export const verifySession: typeof stored.verifySession = async (log, ...given) =>
  await (await load()).verifySession(withPlainEvents(log), ...given);

/**
 * Verifies every session of a log ({@link verifySession}), including those missing from the list, and checks that
 * the global order contains each event once.
 * @example
 * const report = await verifyLog(log);
 * @throws TurnlogError `INVALID_INPUT`, `LOG_FAILED`, `LOG_CLOSED`
 */
export const verifyLog: typeof stored.verifyLog = async (log, ...given) =>
  await (await load()).verifyLog(withPlainEvents(log), ...given);

/**
 * Yields the lines of a session's file without line ends: a header, then one event per line, including those that
 * a fork shares. Events recorded after the first line was read are not included. An encrypted session is exported
 * in plain text; pass `stored` of it to export it encrypted, unless it shares events.
 * @example
 * for await (const line of exportSession(log, "s-1")) file.write(`${line}\n`);
 * @throws TurnlogError `SESSION_NOT_FOUND`, `COMMAND_REFUSED` for encrypted events that it shares,
 * `BLOB_MISSING`, `BLOB_DAMAGED`, and the errors of `EventLog.read`
 */
export const exportSession: typeof stored.exportSession = (...given) =>
  new OneByOne(loadedPages(...given));

async function* loadedPages(
  ...[log, ...given]: Parameters<typeof stored.exportSession>
): AsyncGenerator<readonly string[]> {
  const { exportPages } = await load();
  yield* exportPages(withPlainEvents(log), ...given);
}

/**
 * The lines of a fixture without line ends, for `readSessionFile`, `importSession` and `replay`.
 * @example
 * const lines = await exportFixture(log, "s-1");
 * await writeFile("talk.jsonl", lines.join("\n"));
 * @throws TurnlogError `SESSION_NOT_FOUND`, `EVENT_INVALID` if the redaction leaves an invalid
 * session, and the errors of `EventLog.read`
 */
export const exportFixture: typeof stored.exportFixture = async (log, ...given) =>
  await (await load()).exportFixture(withPlainEvents(log), ...given);

/**
 * Reads all lines of an exported session and checks header, sequence, schemas, the number of events, and the
 * laws (see {@link verifySession}).
 * @example
 * const { events } = await readSessionFile((await readFile("talk.jsonl", "utf8")).split("\n"));
 * @throws TurnlogError `INVALID_INPUT`, `EVENT_INVALID`, `EVENT_TOO_NEW`, with the position
 */
export const readSessionFile: typeof stored.readSessionFile = async (...given) =>
  await (await load()).readSessionFile(...given);

/**
 * Imports an exported session completely or not at all. It reads each line once and checks all of them before it
 * writes; beyond a megabyte, the checked lines wait in an encrypted temporary file.
 * @example
 * await importSession(log, (await readFile("s-1.jsonl", "utf8")).split("\n"));
 * @throws TurnlogError as {@link readSessionFile} and `EventLog.append`; `REVISION_CONFLICT` if a
 * session of this name exists; `KEY_WRONG` for encrypted events that its present key does not decrypt
 */
export const importSession: typeof stored.importSession = async (...given) =>
  await (await load()).importSession(...given);

/**
 * Imports what other programs keep as sessions: a list of messages of OpenAI, Anthropic or the AI SDK, the body of
 * a request, `{ request, response }`, or a list of those. One conversation is named `as`, several `as-1`, `as-2`;
 * a logged request that repeats an earlier one and its response continues that conversation. The kind is found
 * by the names that only it uses, unless `from` says it. All of the value is checked before the first session is
 * written.
 *
 * A user message starts a turn, or steers it after tool results; every reply of the model is a step; a call without
 * a result has an unknown outcome; a JSON error becomes text. A user message between the results of a reply is moved
 * after them. Call ids, provider options and the ids of users' chat messages (`UIMessage[]`) are kept. Model, usage
 * and time are those of the responses; without one, token figures are estimates. `dropped` lists what no session
 * holds: empty messages, and other ids, metadata and the parts of a chat that a model does not see.
 * @example
 * const messages = [{ role: "user", content: "Hello" }, { role: "assistant", content: "Hi." }];
 * const [imported] = await importMessages(log, { model: "gpt-6", messages }, { as: "s-1" });
 * await importMessages(log, chat, { as: "s-2", from: "ui-messages" });
 * console.log(imported?.dropped);
 * @throws TurnlogError `INVALID_INPUT` for values that are not messages, a result without its call, or a call id
 * twice in one reply; `REVISION_CONFLICT` if a session of this name exists
 */
export const importMessages: typeof stored.importMessages = async (...given) =>
  await (await load()).importMessages(...given);

/**
 * The messages that a step at a position would send, with media instead of references. Missing media, and media
 * that the model does not accept, are replaced by notes, as in a model call. URLs are not downloaded.
 * @example
 * const messages = await promptWithMedia(log, "s-1");
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for an unknown position
 */
export const promptWithMedia: typeof stored.promptWithMedia = async (log, ...given) =>
  await (await load()).promptWithMedia(withPlainEvents(log), ...given);

/**
 * Reads what a session paid and for what, as {@link Session.bill}, with `limits` for prices that no catalogue knows.
 * @example
 * const { calls, parts, misses } = await readBill(log, "s-1");
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, and the errors of `EventLog.read`
 */
export const readBill: typeof stored.readBill = async (log, ...given) =>
  await (await load()).readBill(withPlainEvents(log), ...given);

/**
 * Reads a session's figures.
 * @example
 * const { cost } = await readContext(log, "s-1", { position: 120 });
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for an unknown position
 */
export const readContext: typeof stored.readContext = async (log, ...given) =>
  await (await load()).readContext(withPlainEvents(log), ...given);

/**
 * Reads a session at a position from a log. Runs and writes nothing.
 * @example
 * const { history } = await viewSession(log, "s-1", 120);
 * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_DELETED`, `INVALID_INPUT` if the position does not exist
 */
export const viewSession: typeof stored.viewSession = async (log, ...given) =>
  await (await load()).viewSession(withPlainEvents(log), ...given);
