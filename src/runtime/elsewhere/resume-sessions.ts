/** Finds the sessions that another process left unfinished, without opening the others, and continues them. */

import { isElsewhere, TurnlogError, type EventLog } from "../../events/index.ts";
import {
  differentKey,
  isAtRest,
  isIdle,
  listSessions,
  readSessionState,
  type KeepSummary,
  type ListedSession,
  type SessionState,
} from "../../state/index.ts";
import type { Background } from "../../shared/index.ts";
import { asWarning } from "../api/runtime-options.ts";
import type { LaterMessages } from "../live/later-messages.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { Watched } from "../session/watchers.ts";
import type { ResumedSessions, ResumeOptions } from "../api/runtime.ts";

type WatchHost = Pick<ResumeHost, "log" | "live">;

/** The most sessions whose turns are resumed at the same time, unless the caller says otherwise. */
export const RESUMED_AT_ONCE = 8;

export interface ResumeHost {
  readonly log: EventLog;
  readonly live: Pick<LiveSessions, "activate" | "watch" | "isLive" | "assertOpen">;
  readonly later: Pick<LaterMessages, "note">;
  readonly keep: KeepSummary;
}

/** @throws TurnlogError `RUNTIME_CLOSED`, and errors of the whole store */
export async function resumeSessions(
  { log, live, later, keep }: ResumeHost,
  { concurrency = RESUMED_AT_ONCE, where }: ResumeOptions,
): Promise<ResumedSessions> {
  const resumed: string[] = [];
  const scheduled: string[] = [];
  const failed: { session: string; error: TurnlogError }[] = [];
  const unfinished: string[] = [];
  for await (const row of listSessions(log, keep)) {
    live.assertOpen(row.session);
    if (live.isLive(row.session) || differentKey(row.metadata, where) !== undefined) continue;
    const time = nextTime(row);
    if (time !== undefined) {
      later.note(row.session, time);
      scheduled.push(row.session);
    }
    try {
      if (await isUnfinished(log, row)) unfinished.push(row.session);
    } catch (error) {
      failed.push({ session: row.session, error: ownError(row.session, error) });
    }
  }
  const sessions = unfinished.values();
  const work = async (): Promise<void> => {
    for (const session of sessions) {
      try {
        await live.activate(session);
        await comesToRest({ log, live }, session);
        resumed.push(session);
      } catch (error) {
        live.assertOpen(session);
        // The process that runs the session continues it.
        if (isElsewhere(error)) continue;
        failed.push({ session, error: ownError(session, error) });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, unfinished.length) }, work));
  return { resumed, scheduled, failed };
}

/**
 * Resumes all sessions for a runtime that starts, no matter how long the store is unreachable. Never rejects.
 */
export async function resumeInBackground(
  { log, live, later, keep }: ResumeHost,
  { all, each }: { readonly all: Background; readonly each: Background },
): Promise<void> {
  const begun = new Set<string>();
  const resume = async (row: ListedSession): Promise<void> => {
    const { session } = row;
    try {
      if (!(await isUnfinished(log, row))) return;
      await live.activate(session);
      await comesToRest({ log, live }, session);
    } catch (error) {
      // The process that runs the session continues it.
      if (!isElsewhere(error)) throw error;
    }
  };
  await all.run(
    async () => {
      for await (const row of listSessions(log, keep)) {
        const { session } = row;
        if (all.isClosed) return;
        if (begun.has(session) || live.isLive(session)) continue;
        begun.add(session);
        const time = nextTime(row);
        if (time !== undefined) later.note(session, time);
        void each.run(
          () => resume(row),
          (cause) => ownError(session, cause),
        );
      }
    },
    (cause) => asWarning(cause, "The sessions of the store could not be resumed."),
  );
}

/**
 * Resolves when a session is at rest, or waits for nothing but sub-agents that wait for people: their answers may
 * take days.
 */
async function comesToRest(host: WatchHost, session: string, call?: AbortSignal): Promise<void> {
  const ended = new Set<string>();
  for (;;) {
    const look = ({ state }: Watched): readonly string[] | undefined => {
      // A sub-agent is idle before its task is sent, and once its call ends.
      if (isAtRest(state)) return call !== undefined && isIdle(state) ? undefined : [];
      const running = onlyChildren(state);
      return running?.some((child) => ended.has(child)) === true ? undefined : running;
    };
    const children = await host.live.watch(session, look, call);
    const asks = await Promise.all(
      children.map(async (child) => await comesToAsk(host, session, child)),
    );
    if (asks.every(Boolean)) return;
    for (const [index, child] of children.entries()) if (asks[index] !== true) ended.add(child);
  }
}

/** True when a sub-agent waits for people, false when its call has ended. */
async function comesToAsk(host: WatchHost, session: string, child: string): Promise<boolean> {
  const stop = new AbortController();
  const { signal } = stop;
  const look = ({ state }: Watched): true | undefined =>
    onlyChildren(state)?.includes(child) === true ? undefined : true;
  const ends = host.live.watch(session, look, signal).then(() => false);
  const asks = (async () => {
    // Its session may not be created yet.
    for await (const _ of host.log.subscribe(child, { signal })) break;
    await comesToRest(host, child, signal);
    return true;
  })();
  try {
    // What fails a sub-agent fails its call.
    return await Promise.race([ends, asks.catch(() => ends)]);
  } finally {
    stop.abort();
    ends.catch(() => {});
  }
}

/** The sub-agents that a session waits for; undefined if something else of it runs. */
function onlyChildren({ machine, toolCalls }: SessionState): readonly string[] | undefined {
  if (machine.value !== "tools") return undefined;
  const running = toolCalls.open.filter(({ status }) => !isAsked.has(status));
  const children = running.flatMap(({ child }) => child ?? []);
  return children.length === running.length ? children : undefined;
}

const isAsked: ReadonlySet<string> = new Set(["awaiting-approval", "awaiting-output"]);

/** The time of its next message for later. */
function nextTime({ status, waiting = [] }: ListedSession): number | undefined {
  if (status === "closed") return undefined;
  const times = waiting.flatMap(({ notBefore }) => notBefore ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** @throws TurnlogError if the session cannot be read */
async function isUnfinished(log: EventLog, row: ListedSession): Promise<boolean> {
  const { session, status, waiting = [], problem } = row;
  if (status === "closed") return false;
  const mayStart = waiting.some(({ notBefore }) => notBefore === undefined);
  if (status === "idle" && !mayStart && problem === undefined) return false;
  if (status === "running") return true;
  // A row does not show whether waiting messages are held back, or whether a permanent answer has released a
  // call.
  return !isAtRest(await readSessionState(log, session));
}

/** The error with the name of the session, which that of an agent lacks. */
function ownError(session: string, cause: unknown): TurnlogError {
  if (TurnlogError.isInstance(cause) && cause.session !== undefined) return cause;
  const code = TurnlogError.isInstance(cause) ? cause.code : "LOG_FAILED";
  const message = cause instanceof Error ? cause.message : String(cause);
  return new TurnlogError(code, `Session ${session} was not resumed: ${message}`, {
    session,
    cause,
  });
}
