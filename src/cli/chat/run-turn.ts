/** Runs one turn: sends the message, shows the events as they are logged, asks where a call waits for it. */

import { TurnlogError } from "../../events/index.ts";
import type { Session, TurnResult } from "../../runtime/index.ts";
import type { Interrupts } from "./interrupts.ts";
import type { TurnView } from "./turn-view.ts";

/** @throws TurnlogError as `session.send` and `turn.result` do */
export async function runTurn(
  session: Session,
  message: string,
  view: TurnView,
  interrupts: Interrupts,
): Promise<TurnResult> {
  const stop = new AbortController();
  let cancelled: Promise<unknown> = Promise.resolve();
  const cancel = (): void => {
    stop.abort();
    const done = Promise.all([view.cancelling(), session.cancel({ reason: "Ctrl-C" })]);
    // Kept until the turn has been shown: an error is then thrown there, not into nowhere.
    cancelled = done.catch((error: unknown) => error);
  };
  const unwanted = AbortSignal.any([stop.signal, interrupts.ending]);
  return await interrupts.during(cancel, async () => {
    const turn = await session.send(message);
    for await (const event of turn) {
      await view.show(event);
      if (event.type !== "tool.approval-requested" || unwanted.aborted) continue;
      const answer = await view.approve?.(event.data.callId, unwanted);
      if (answer?.kind === "answer") await settle(session, event.data.callId, answer.value);
      else if (answer?.kind === "left" && !unwanted.aborted) interrupts.press();
    }
    const trouble = await cancelled;
    if (trouble instanceof Error) throw trouble;
    return await turn.result;
  });
}

async function settle(session: Session, callId: string, mayRun: boolean): Promise<void> {
  try {
    if (mayRun) await session.approve(callId);
    else await session.deny(callId, { reason: "the user said no" });
  } catch (error) {
    // While the question stood, the turn was cancelled: nobody waits for the answer any more.
    if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
  }
}
