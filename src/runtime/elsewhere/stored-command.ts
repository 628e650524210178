/** Changes a session that no process runs, or asks the process that runs it. */

import { randomUUID } from "node:crypto";
import { isElsewhere, type EventLog, type JsonValue } from "../../events/index.ts";
import { answerTo, forwardCommand, plainArgs } from "./forwarded-commands.ts";
import { whileClaimed } from "../live/claims.ts";

/** A command with the result of a change. */
export interface StoredCommand<Result> {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Reads the answer of the process that runs the session. */
  readonly read: (answer: JsonValue | undefined) => Result;
}

/**
 * As {@link whileClaimed}; if another process runs the session, that process executes the command. If it dies
 * meanwhile, the change is made here.
 * @param change - Gets the id of the command, which another process may have executed before it died.
 */
export async function changeStored<Result>(
  log: EventLog,
  session: string,
  { name, args, read }: StoredCommand<Result>,
  change: (command: string) => Promise<Result>,
): Promise<Result> {
  const id = randomUUID();
  const { inbox } = log;
  if (inbox === undefined) return await whileClaimed(log, session, () => change(id));
  const command = { id, name, args: plainArgs(session, name, args) };
  let asked: Promise<Result> | undefined;
  const here = async (): Promise<Result> => {
    if (asked === undefined) return await change(id);
    const unanswered = await inbox.unanswered(session);
    // Another process has answered before it died.
    if (!unanswered.some((one) => one.id === id)) return await asked;
    try {
      return await change(id);
    } finally {
      // Else the next process would execute it again.
      await inbox.answer(session, id, {});
    }
  };
  const ended = new AbortController();
  try {
    for (;;) {
      try {
        return await whileClaimed(log, session, here);
      } catch (error) {
        if (!isElsewhere(error, session)) throw error;
      }
      const gone = Promise.withResolvers<undefined>();
      using _ = inbox.onDue((due) => {
        if (due === session) gone.resolve(undefined);
      });
      // Wait once, also if the owner changes: the inbox gives each answer once.
      if (asked === undefined) {
        await inbox.post(session, command);
        asked = answerTo(inbox, session, id, ended.signal).then(read);
        asked.catch(() => {});
      }
      const answered = await Promise.race([asked.then((result) => ({ result })), gone.promise]);
      if (answered !== undefined) return answered.result;
    }
  } finally {
    ended.abort();
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
