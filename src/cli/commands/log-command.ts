/**
 * `turnlog log`: the events of all sessions in the order in which they were written. With `--follow` it
 * follows the process that has the store open. If no process has it open, or the process does not share the
 * store, it continues reading each time the store has been closed.
 */

import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  allReadableEvents,
  TurnlogError,
  type EventLog,
  type GlobalEvent,
} from "../../events/index.ts";
import { storeReached } from "../../store/leveldb/index.ts";
import { viewSession } from "../../state/index.ts";
import { DONE, type ExitCode } from "../output/error-report.ts";
import { writeLine, writeLines, type Channel, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import { openSessions, sharedSessions } from "../settings/store-folder.ts";
import { eventLine } from "../show/show-history.ts";
import type { Given } from "./option-values.ts";
import type { logOptions } from "./command-options.ts";

type Options = Given<typeof logOptions>;

const inTheOtherProcess =
  "A store has one owner at a time. The process that has it can follow its events: `runtime.log.subscribeAll()` in a program.";

/** Milliseconds between two reads of `store.json`, which is written when a store is closed. */
const POLL_MS = 500;

export async function showLog(options: Options, output: Output): Promise<ExitCode> {
  const { progress } = output;
  let next = await print(options, options.from ?? 1, output);
  if (!options.follow) return DONE;
  await writeLine(
    progress,
    "These are all events so far. New events appear as another process writes them; Ctrl-C ends.",
  );
  return await unlessInterrupted(async (signal) => {
    for (;;) {
      next = await followOwner(options, next, output, signal);
      await wait(POLL_MS, undefined, { signal });
      if ((await reached(options)) < next) continue;
      next = await printIfUnlocked(options, next, output);
    }
  });
}

/** Prints the events from a global position on. @returns the position after the last event */
async function print(
  options: Options,
  from: number,
  { data, progress }: Pick<Output, "data" | "progress">,
): Promise<number> {
  await using log = await openSessions(options, {
    readOnly: true,
    elsewhere: inTheOtherProcess,
    // An encrypted session must not hide the others.
    withoutKey: "redact",
  });
  await assertThere(log, options);
  let next = from;
  const missing: string[] = [];
  const leftOut = ({ session, message }: TurnlogError): void => {
    if (options.session === undefined || options.session === session) missing.push(message);
  };
  const lines = async function* (): AsyncGenerator<string> {
    for await (const placed of allReadableEvents(log, from, leftOut)) {
      next = placed.position + 1;
      if (options.session === undefined || options.session === placed.session)
        yield options.json ? jsonText(placed) : line(placed, data);
    }
  };
  await writeLines(data, lines());
  for (const message of missing) await writeLine(progress, `Left out: ${message}`);
  return Math.max(next, (await reached(options)) + 1);
}

/** The last global position of the store when it was closed. A database is followed without a break. */
async function reached({ dir, remote }: Options): Promise<number> {
  return remote === undefined ? await storeReached(resolve(dir)) : 0;
}

/**
 * Prints events as the process that has the store open writes them, until it closes the store.
 * @returns the position after the last event; `from` if no process shares the store
 */
async function followOwner(
  options: Options,
  from: number,
  { data }: Output,
  signal: AbortSignal,
): Promise<number> {
  await using log = await sharedSessions(options, "redact");
  if (log === undefined) return from;
  let next = from;
  try {
    for await (const placed of log.subscribeAll({ from, signal })) {
      next = placed.position + 1;
      if (options.session === undefined || options.session === placed.session)
        await writeLine(data, options.json ? jsonText(placed) : line(placed, data));
    }
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_CLOSED") throw error;
  }
  signal.throwIfAborted();
  return next;
}

/** Without `--follow` the session must exist. With it the session may begin later, unless it was deleted. */
async function assertThere(log: EventLog, { session, follow }: Options): Promise<void> {
  if (session === undefined) return;
  try {
    await viewSession(log, session, 1);
  } catch (error) {
    const isMissing = TurnlogError.isInstance(error) && error.code === "SESSION_NOT_FOUND";
    if (!follow || !isMissing) throw error;
  }
}

/** Leaves the store for the next poll if another process has opened it. */
async function printIfUnlocked(options: Options, from: number, output: Output): Promise<number> {
  try {
    return await print(options, from, output);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_LOCKED") throw error;
    return from;
  }
}

function line({ position, session, event }: GlobalEvent, data: Channel): string {
  const place = data.style("dim", String(position).padStart(8));
  return `${place}  ${data.style("bold", session)} ${eventLine(event, data)}`;
}
