/** Rewinds a stored session: its events are written straight to the log, unless another process runs it. */

import { z } from "zod";
import { shellWord, type EventBody, type EventLog } from "../events/index.ts";
import { isAtBoundary, stateAt } from "../state/index.ts";
import {
  checkout,
  commands,
  repeatedMessages,
  rewind,
  withdrawal,
  type CommandTarget,
  type RewindDecision,
  type RewindManner,
  type RewindPlace,
  type Rewound,
} from "./session/index.ts";
import { changeStored, type StoredCommand } from "./stored-command.ts";

/** Made by the other process, of a neighbouring release. */
const rewoundSchema = z.custom<Rewound>();

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
  const change = (): Promise<Rewound> => moveHere(log, session, asked.name, decide, now);
  return await changeStored(
    log,
    session,
    { ...asked, read: (answer) => rewoundSchema.parse(answer) },
    change,
  );
}

async function moveHere(
  log: EventLog,
  session: string,
  command: string,
  decide: (target: CommandTarget) => RewindDecision,
  now: number,
): Promise<Rewound> {
  const append = async ({ state }: CommandTarget, body: EventBody): Promise<void> => {
    await log.append(session, state.position, [{ ...body, time: now }]);
  };
  const before = { session, state: await stateAt(log, session) };
  commands.assertNotClosed(before, command);
  if (!isAtBoundary(before.state))
    throw commands.refusal(
      before,
      command,
      `its turn has not ended. Continue it first, as with \`turnlog --session ${shellWord(session)}\`, or cancel it there`,
    );
  const { event, rewound } = decide(before);
  if (event === undefined) return rewound;
  const ids = repeatedMessages(before.state);
  if (ids.length === 0) {
    await append(before, event);
    return rewound;
  }
  await append(before, withdrawal(ids));
  const target = { session, state: await stateAt(log, session) };
  const decided = decide(target);
  if (decided.event !== undefined) await append(target, decided.event);
  return decided.rewound;
}
