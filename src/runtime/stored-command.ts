/** Changes a session that no process runs, or asks the process that runs it. */

import { randomUUID } from "node:crypto";
import { isElsewhere, type EventLog, type JsonValue } from "../events/index.ts";
import { forwardCommand, plainArgs } from "./forwarded-commands.ts";
import { claimOf } from "./live-session.ts";

/** A command with the result of a change. */
export interface StoredCommand<Result> {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Reads the answer of the process that runs the session. */
  readonly read: (answer: JsonValue | undefined) => Result;
}

/** Runs a change while no process can take the session. @throws TurnlogError `SESSION_ELSEWHERE` */
export async function whileClaimed<Result>(
  log: EventLog,
  session: string,
  change: () => Promise<Result>,
): Promise<Result> {
  const claim = await claimOf(log, session);
  try {
    return await change();
  } finally {
    await claim.release();
  }
}

/**
 * As {@link whileClaimed}; if another process runs the session, that process executes the command. If it dies
 * meanwhile, the change is made here.
 */
export async function changeStored<Result>(
  log: EventLog,
  session: string,
  { name, args, read }: StoredCommand<Result>,
  change: () => Promise<Result>,
): Promise<Result> {
  const { inbox } = log;
  if (inbox === undefined) return await whileClaimed(log, session, change);
  const id = randomUUID();
  const command = { id, name, args: plainArgs(session, name, args) };
  let isPosted = false;
  const here = async (): Promise<Result | undefined> => {
    if (!isPosted) return await change();
    // Another process may have executed it before it died.
    const unanswered = await inbox.unanswered(session);
    if (!unanswered.some((one) => one.id === id)) return undefined;
    try {
      return await change();
    } finally {
      // Else the next process would execute it again.
      await inbox.answer(session, id, {});
    }
  };
  for (;;) {
    try {
      const result = await whileClaimed(log, session, here);
      if (result !== undefined) return result;
    } catch (error) {
      if (!isElsewhere(error, session)) throw error;
    }
    const gone = new AbortController();
    using _ = inbox.onDue((due) => due === session && gone.abort());
    isPosted = true;
    try {
      return read(await forwardCommand(inbox, session, command, gone.signal));
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  }
}

/**
 * For a runtime, whose own inbox executes the command if the other process dies. Runs `here`, which claims the
 * session; if another process has it, that process executes the command.
 */
export async function elsewhereIfNotHere<Result>(
  log: EventLog,
  session: string,
  { name, args, read }: StoredCommand<Result>,
  signal: AbortSignal | undefined,
  here: () => Promise<Result>,
): Promise<Result> {
  try {
    return await here();
  } catch (error) {
    const { inbox } = log;
    if (!isElsewhere(error, session) || inbox === undefined) throw error;
    const command = { id: randomUUID(), name, args: plainArgs(session, name, args) };
    return read(await forwardCommand(inbox, session, command, signal));
  }
}
