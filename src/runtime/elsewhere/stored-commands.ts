/** Changes a session that no process runs, or asks the process that runs it. */

import { randomUUID } from "node:crypto";
import {
  isElsewhere,
  type EventLog,
  type JsonValue,
  shellWord,
  type EventBody,
} from "../../events/index.ts";
import { answerTo, forwardCommand, plainArgs, readAnswer } from "./forwarded-commands.ts";
import { whileClaimed } from "../live/claims.ts";
import { isAtBoundary, stateAt } from "../../state/index.ts";
import {
  checkout,
  rewind,
  rewoundSchema,
  type RewindDecision,
  type RewindManner,
  type RewindPlace,
  type Rewound,
} from "../session/rewind.ts";
import { commandEventId, executedAt, recordedRewind } from "../session/command-outcome.ts";
import { leavingBranch } from "../session/repeated-messages.ts";
import * as commands from "../session/commands.ts";
import type { CommandTarget } from "../session/commands.ts";

/** A command with the result of a change. */
export interface StoredCommand<Result> {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Reads the answer of the process that runs the session. */
  readonly read: (answer: JsonValue | undefined) => Result;
}

/**
 * As {@link whileClaimed}; if another process runs the session, that process executes the command. If that
 * process dies first, the change is made here.
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
      // Wait once, even if the owner changes: the inbox gives each answer once.
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

// Rewinds a stored session: its events are written straight to the log, unless another process runs it.

interface StoredMove extends RewindManner {
  /** Epoch milliseconds. */
  readonly now?: number;
}

/**
 * Rewinds as `Session.rewind` does, but runs nothing: an unfinished turn is not cancelled. If another process
 * runs the session, that process rewinds it.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_CLOSED`, `COMMAND_REFUSED` (in the middle of a
 * turn; no place to rewind to), and the errors of `EventLog.append`
 */
export async function rewindSession(
  log: EventLog,
  session: string,
  place: RewindPlace,
  { now, ...manner }: StoredMove = {},
): Promise<Rewound> {
  return await moveStored(
    log,
    session,
    { name: "rewind", args: [{ ...place, ...manner }] },
    (target) => rewind(target, place, manner),
    now,
  );
}

/** Makes another branch active as `Session.checkout` does. Otherwise as {@link rewindSession}. */
export async function checkoutSession(
  log: EventLog,
  session: string,
  branch: number,
  { now, ...manner }: StoredMove = {},
): Promise<Rewound> {
  return await moveStored(
    log,
    session,
    { name: "checkout", args: [branch, manner] },
    (target) => checkout(target, branch, manner),
    now,
  );
}

async function moveStored(
  log: EventLog,
  session: string,
  asked: Omit<StoredCommand<Rewound>, "read">,
  decide: (target: CommandTarget) => RewindDecision,
  now: number = Date.now(),
): Promise<Rewound> {
  const change = (command: string): Promise<Rewound> =>
    moveHere(log, session, { id: command, name: asked.name }, decide, now);
  return await changeStored(
    log,
    session,
    { ...asked, read: (answer) => readAnswer(rewoundSchema, session, asked.name, answer) },
    change,
  );
}

async function moveHere(
  log: EventLog,
  session: string,
  { id: command, name }: { readonly id: string; readonly name: string },
  decide: (target: CommandTarget) => RewindDecision,
  now: number,
): Promise<Rewound> {
  const append = async (
    { state }: CommandTarget,
    bodies: readonly EventBody[],
    id?: string,
  ): Promise<void> => {
    const about = { time: now, ...(id === undefined ? {} : { id }) };
    await log.append(
      session,
      state.position,
      bodies.map((body) => ({ ...body, ...about })),
    );
  };
  const before = { session, state: await stateAt(log, session) };
  const done = executedAt(before.state, command);
  if (done !== undefined) return (await recordedRewind(log, session, done)).rewound;
  commands.assertNotClosed(before, name);
  if (!isAtBoundary(before.state))
    throw commands.refusal(
      before,
      name,
      `its turn has not ended. Continue it first, as with \`turnlog --session ${shellWord(session)}\`, or cancel it there`,
    );
  // Only where another process may get the command too.
  const eventId = log.inbox === undefined ? undefined : commandEventId(command);
  const { event, rewound } = decide(before);
  if (event === undefined) return rewound;
  const leaving = leavingBranch(before.state);
  if (leaving.length === 0) {
    await append(before, [event], eventId);
    return rewound;
  }
  await append(before, leaving);
  const target = { session, state: await stateAt(log, session) };
  const decided = decide(target);
  if (decided.event !== undefined) await append(target, [decided.event], eventId);
  return decided.rewound;
}
