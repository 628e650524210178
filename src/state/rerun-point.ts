/** Finds the position at which the fork of a rerun branches off. Reads only. */

import { shellWord, TurnlogError, type EventLog } from "../events/index.ts";
import { isInTurn } from "./recovery.ts";
import type { SessionState } from "./session-state.ts";
import { stateAt } from "./view.ts";

/** A position in a turn, or the start of a step. Default: the first step of the last turn. */
export interface RerunPlace {
  readonly position?: number | undefined;
  /** The number of a step of the session, counted from 1. */
  readonly step?: number | undefined;
}

export interface RerunPoint {
  /** The last position that stays. */
  readonly position: number;
  /** The first message of the turn that continues. */
  readonly messageId: string;
}

/** Where `Session.rerun` forks. @throws TurnlogError `INVALID_INPUT` if no turn runs there, `SESSION_NOT_FOUND` */
export async function rerunPoint(
  log: EventLog,
  session: string,
  { position: asked, step }: RerunPlace,
): Promise<RerunPoint> {
  const now = await stateAt(log, session, asked);
  const position = asked ?? (await beforeStep(log, session, step ?? firstStepOfLastTurn(now)));
  const state = position === now.position ? now : await stateAt(log, session, position);
  const turn = isInTurn(state.machine) ? state.machine.context.turn : undefined;
  const message = state.history.items.find((item) => item.kind === "user" && item.turn === turn);
  if (message?.kind !== "user") {
    throw new TurnlogError(
      "INVALID_INPUT",
      `At position ${position} of session ${session} no turn is running that could run again. Name a position in a turn or a step, or fork the session and send a message.`,
      { session, position },
    );
  }
  return { position: position, messageId: message.id };
}

function firstStepOfLastTurn({ history }: SessionState): number | undefined {
  const steps = history.open === undefined ? history.items : [...history.items, history.open];
  for (const item of steps) {
    if (item.kind === "step" && item.turn === history.turn) return item.step;
  }
  return undefined;
}

async function beforeStep(
  log: EventLog,
  session: string,
  step: number | undefined,
): Promise<number> {
  for await (const { type, position, data } of log.read(session)) {
    if (type === "step.started" && data.step === step) return position - 1;
  }
  throw new TurnlogError(
    "INVALID_INPUT",
    step === undefined
      ? `Session ${session} has no turn to run again. Send a message.`
      : `Session ${session} has no step ${step}. \`turnlog show ${shellWord(session)} --view timeline\` lists its steps.`,
    { session },
  );
}
