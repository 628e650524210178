/** Rewinds a stored session: its events are written straight to the log, unless another process runs it. */

import { shellWord, type EventBody, type EventLog } from "../../events/index.ts";
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
import { readAnswer } from "./forwarded-commands.ts";
import { changeStored, type StoredCommand } from "./stored-command.ts";

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
