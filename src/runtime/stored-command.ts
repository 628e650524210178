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

/** As {@link whileClaimed}; if another process runs the session, that process executes the command. */
export async function changeStored<Result>(
  log: EventLog,
  session: string,
  command: StoredCommand<Result>,
  change: () => Promise<Result>,
): Promise<Result> {
  return await elsewhereIfNotHere(log, session, command, undefined, () =>
    whileClaimed(log, session, change),
  );
}

/** Runs `here`, which claims the session. If another process has it, that process executes the command. */
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
