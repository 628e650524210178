/**
 * `turnlog show` and `log`: a session now or at a position, and the events of all sessions; with `--follow` also what is
 * written later. They run nothing and activate no session.
 */

import { shippedCatalogue } from "../../context/index.ts";
import {
  type EventLog,
  type GlobalEvent,
  type ReadRange,
  type SessionEvent,
  TurnlogError,
  allReadableEvents,
  defined,
  hasCode,
} from "../../events/index.ts";
import { type StepTimeline, leftBranches, stepTimelines } from "../../projections/index.ts";
import { type SessionView, stateAt, subAgentsOf, viewOf, viewSession } from "../../state/index.ts";
import { fullLengths, usualLengths } from "../wording/wording.ts";
import { type Channel, type Output, writeLine, writeLines } from "../output/output.ts";
import { DONE, type ExitCode, UsageError } from "../output/error-report.ts";
import { jsonText } from "../output/visible-text.ts";
import { firstAbort } from "../../shared/index.ts";
import {
  type LeftAt,
  allItems,
  eventLine,
  historyLines,
  timelineLines,
  withLeftBranch,
} from "../show/show-history.ts";
import {
  linkedLines,
  promptLines,
  stateLines,
  stateValue,
  subAgentLines,
  usageLines,
  usageValue,
} from "../show/show-view.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import {
  type SessionsPlace,
  type SessionsUse,
  openSessions,
  sharedSessions,
} from "../settings/store-folder.ts";
import type { Given } from "./option-values.ts";
import type { logOptions, showOptions } from "./command-options.ts";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { storeChangedAt } from "../../store/leveldb/index.ts";

type Options = Given<typeof showOptions>;

export async function show(
  session: string,
  options: Options,
  output: Output,
): Promise<ExitCode | void> {
  const { position, view: shown, json, step, full, follow, ...place } = options;
  const { data } = output;
  if (follow) return await showFollowed(session, options, output);
  if (step !== undefined && shown !== "timeline" && shown !== "prompt")
    throw new UsageError("--step is for steps and prompts: add --view timeline or --view prompt.");
  await using log = await openSessions(place, { readOnly: true });
  const at = shown === "prompt" ? await startOf(log, session, step, position) : position;
  const state = await stateAt(log, session, at);
  const view = viewOf(session, state);
  const leftAt = leftBranches(state.branches);
  if (shown === "timeline") {
    const timelines = await timelinesOf(log, view, step);
    const lines = json
      ? timelines.map((timeline) => jsonText(timeline))
      : timelineLines(timelines, data);
    return await writeLines(data, lines);
  }
  if (shown === "events") {
    const events = log.read(session, { to: view.position });
    return await writeLines(data, eventLines(events, leftAt, json ? undefined : data, full));
  }
  const lengths = full ? fullLengths : usualLengths;
  if (shown === "history") {
    if (json) {
      const items = allItems(state).map((item) => jsonText(withLeftBranch(item, leftAt)));
      return await writeLines(data, items);
    }
    const events = log.read(session, { to: view.position });
    await writeLines(data, linkedLines(view));
    return await writeLines(
      data,
      historyLines({ events, queue: view.queue, leftAt }, data, lengths),
    );
  }
  if (shown === "usage") {
    const subAgents = await subAgentsOf(log, session, await shippedCatalogue());
    const lines = json
      ? [jsonText(usageValue(view, subAgents))]
      : [...usageLines(view), ...subAgentLines(subAgents)];
    return await writeLines(data, lines);
  }
  if (shown === "state")
    return await writeLines(data, json ? [jsonText(stateValue(view))] : stateLines(view));
  await writeLines(data, json ? [jsonText(view.prompt)] : promptLines(view, data, lengths));
}

/** A later event may leave a branch, so none is marked. */
const nothingLeft: LeftAt = () => undefined;

/** The events or the history, and what is written later. */
async function showFollowed(
  session: string,
  { position, view: shown, json, step, full, ...place }: Options,
  output: Output,
): Promise<ExitCode> {
  const { data } = output;
  if (position !== undefined || step !== undefined)
    throw new UsageError("--follow shows what is written later: leave out --position and --step.");
  if (shown !== "events" && (shown !== "history" || json))
    throw new UsageError("--follow shows events or, as text, the history: add --view events.");
  let isFirst = true;
  return await unlessInterrupted(async (signal) => {
    const source = {
      stored: async function* (log: EventLog, from: number) {
        // It may have been deleted while the store was closed.
        await viewSession(log, session, 1);
        yield* log.read(session, { from });
        if (isFirst) await tellFollowing(output);
        isFirst = false;
      },
      live: (log: EventLog, from: number) => log.subscribe(session, { from, signal }),
    };
    const events = followed(place, source, { from: 1, signal });
    const lengths = full ? fullLengths : usualLengths;
    const lines =
      shown === "events"
        ? eventLines(events, nothingLeft, json ? undefined : data, full)
        : historyLines({ events, queue: [], leftAt: nothingLeft }, data, lengths);
    for await (const line of lines) await writeLine(data, line);
    return DONE;
  });
}

/** The position before the last attempt at a step, whose prompt it sent; without a step, the given one. */
async function startOf(
  log: EventLog,
  session: string,
  step: number | undefined,
  position: number | undefined,
): Promise<number | undefined> {
  if (step === undefined) return position;
  let start: number | undefined;
  let last = 0;
  for await (const { type, data, position: at } of log.read(session, toRange(position))) {
    if (type !== "step.started") continue;
    last = data.step;
    if (last === step) start = at - 1;
  }
  if (start === undefined) throw absentStep(session, step, last, position);
  return start;
}

function toRange(position: number | undefined): ReadRange {
  return position === undefined ? {} : { to: position };
}

function absentStep(
  session: string,
  step: number,
  last: number,
  position: number | undefined,
): TurnlogError {
  const until = position === undefined ? "" : ` up to position ${position}`;
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has no step ${step}${until}: its steps are 1 to ${last}.`,
    { session, ...defined({ position }) },
  );
}

async function timelinesOf(
  log: EventLog,
  { session, position }: SessionView,
  step: number | undefined,
): Promise<readonly StepTimeline[]> {
  const timelines = stepTimelines(await Array.fromAsync(log.read(session, { to: position })));
  if (step === undefined) return timelines;
  const found = timelines.filter((timeline) => timeline.step === step);
  if (found.length > 0) return found;
  throw absentStep(session, step, timelines.length, position);
}

/** @param data - The channel for text; undefined for JSON. */
async function* eventLines(
  events: AsyncIterable<SessionEvent>,
  leftAt: LeftAt,
  data: Channel | undefined,
  full: boolean,
): AsyncGenerator<string> {
  for await (const event of events) {
    yield data === undefined
      ? jsonText(withLeftBranch(event, leftAt))
      : eventLine(event, data, full, leftAt);
  }
}

// `turnlog log`: the events of all sessions in the order in which they were written.

type LogOptions = Given<typeof logOptions>;

export async function showLog(options: LogOptions, output: Output): Promise<ExitCode> {
  const { from = 1, session, json } = options;
  const { data } = output;
  async function* lines(events: AsyncIterable<GlobalEvent>): AsyncGenerator<string> {
    for await (const placed of events)
      if (session === undefined || session === placed.session)
        yield json ? jsonText(placed) : line(placed, data);
  }
  if (!options.follow) {
    await using log = await openSessions(options, reading);
    await writeLines(data, lines(stored(log, from, options, output)));
    return DONE;
  }
  let isFirst = true;
  return await unlessInterrupted(async (signal) => {
    const events = followed(
      options,
      {
        stored: async function* (log, next) {
          yield* stored(log, next, options, output);
          if (isFirst) await tellFollowing(output);
          isFirst = false;
        },
        live: (log, next) =>
          session === undefined
            ? log.subscribeAll({ from: next, signal })
            : untilDeleted(log, session, next, signal),
      },
      { from, signal },
    );
    for await (const one of lines(events)) await writeLine(data, one);
    return DONE;
  });
}

/** The events of all sessions, until this one is deleted, which adds no event. @throws TurnlogError `SESSION_DELETED` */
async function* untilDeleted(
  log: EventLog,
  session: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<GlobalEvent> {
  const left = new AbortController();
  using ends = firstAbort(signal, left.signal);
  // No session has an event there, so this only waits for the error.
  const deletion = log.subscribe(session, { from: Number.MAX_SAFE_INTEGER, signal: ends.signal });
  const watch = Array.fromAsync(deletion).finally(() => left.abort());
  // It is awaited below, whatever happens first.
  watch.catch(() => {});
  try {
    yield* log.subscribeAll({ from, signal: ends.signal });
  } finally {
    left.abort();
  }
  await watch;
}

async function tellFollowing({ progress }: Pick<Output, "progress">): Promise<void> {
  await writeLine(
    progress,
    "These are all events so far. New events appear as another process writes them; Ctrl-C ends.",
  );
}

/** The stored events from a global position on. What cannot be read is named behind them. */
async function* stored(
  log: EventLog,
  from: number,
  options: LogOptions,
  { progress }: Pick<Output, "progress">,
): AsyncGenerator<GlobalEvent> {
  await assertThere(log, options);
  const missing: string[] = [];
  yield* allReadableEvents(log, from, ({ session, message }) => {
    if (options.session === undefined || options.session === session) missing.push(message);
  });
  for (const message of missing) await writeLine(progress, `Left out: ${message}`);
}

/** Without `--follow` the session must exist. With it the session may begin later, unless it was deleted. */
async function assertThere(log: EventLog, { session, follow }: LogOptions): Promise<void> {
  if (session === undefined) return;
  try {
    await viewSession(log, session, 1);
  } catch (error) {
    const isMissing = TurnlogError.isInstance(error) && error.code === "SESSION_NOT_FOUND";
    if (!follow || !isMissing) throw error;
  }
}

function line({ position, session, event }: GlobalEvent, data: Channel): string {
  const place = data.style("dim", String(position).padStart(8));
  return `${place}  ${data.style("bold", session)} ${eventLine(event, data)}`;
}

// Yields what a store has, and then what is written later: at once while another process shares the store, else each
// time that a process has closed it.

/** How stored and live items are read, from a position on. */
interface Followed<Item> {
  readonly stored: (log: EventLog, from: number) => AsyncIterable<Item>;
  readonly live: (log: EventLog, from: number, signal: AbortSignal) => AsyncIterable<Item>;
}

/** How often the files of a closed store are checked for a change, in milliseconds. */
const POLL_MS = 500;

/** For commands that only read. */
const reading = {
  readOnly: true,
  elsewhere:
    "A store has one owner at a time. The process that has it can follow its events: `runtime.log.subscribeAll()` in a program.",
  // An encrypted session must not hide the others.
  withoutKey: "redact",
} as const satisfies SessionsUse;

/** Goes on until the signal aborts. */
async function* followed<Item extends { readonly position: number }>(
  place: SessionsPlace,
  { stored, live }: Followed<Item>,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<Item> {
  let next = from;
  /** The time of the last change that was read; -1 before the first read. */
  let read = -1;
  async function* noted(items: AsyncIterable<Item>): AsyncGenerator<Item> {
    for await (const item of items) {
      next = item.position + 1;
      yield item;
    }
  }
  for (;;) {
    const changed = changedAt(place);
    try {
      if (changed !== read) {
        await using log = await openSessions(place, reading);
        yield* noted(stored(log, next));
        read = changed;
      }
    } catch (error) {
      // Another process has opened it since the first time.
      if (read === -1 || !hasCode(error, "LOG_LOCKED")) throw error;
    }
    try {
      await using log = await sharedSessions(place, reading.withoutKey);
      if (log !== undefined) yield* noted(live(log, next, signal));
    } catch (error) {
      if (!hasCode(error, "LOG_CLOSED")) throw error;
    }
    signal.throwIfAborted();
    await wait(POLL_MS, undefined, { signal });
  }
}

/** A deletion changes it too. A database is followed without a break. */
function changedAt({ dir, remote }: SessionsPlace): number {
  return remote === undefined ? storeChangedAt(resolve(dir)) : 0;
}
