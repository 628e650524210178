/** Finds in a log where a fork that undoes a turn or edits a message branches off. Called by live forks. */

import { TurnlogError, type EventLog } from "../events/index.ts";
import {
  lastMessage,
  lastTurn,
  pointBefore,
  type BranchPoint,
  type Retraction,
} from "../projections/index.ts";
import { stateAt } from "./session-view.ts";

/** Where to fork to replace the last message that was delivered up to a position, or to undo the last turn. */
export async function forkPoint(
  log: EventLog,
  session: string,
  at: number | undefined,
  undo: boolean,
): Promise<BranchPoint> {
  const state = await stateAt(log, session, at);
  const retraction = undo ? lastTurn(state) : lastMessage(state);
  if (retraction !== undefined) {
    return pointBefore(retraction, await startOf(log, session, retraction), state.queue);
  }
  const what = undo
    ? "no turn that could be undone"
    : "no delivered message that could be edited. Send one";
  throw new TurnlogError(
    "INVALID_INPUT",
    `Up to position ${state.position} session ${session} has ${what}.`,
    { session, position: state.position },
  );
}

/** The position of what is not to have happened, from the log: a state does not say where turns began. */
async function startOf(log: EventLog, session: string, { before }: Retraction): Promise<number> {
  if (before.kind === "delivery") return before.position;
  const { turn, begun } = before;
  for await (const { type, data, position } of log.read(session, { to: begun, backwards: true })) {
    if (type === "turn.started" && data.turn === turn) return position;
  }
  throw new TurnlogError(
    "EVENT_INVALID",
    `Turn ${turn} of session ${session} was told something at ${begun}, and never began. \`turnlog verify\` tells what else is wrong with it.`,
    { session, position: begun },
  );
}
