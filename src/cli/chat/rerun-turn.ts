/** Runs a turn of a session again, live, in a fork: what `turnlog rerun` does when its runtime is there. */

import type { Runtime } from "../../runtime/index.ts";
import { forkSession } from "../../archive/index.ts";
import { rerunPoint, type RerunPlace } from "../../state/index.ts";
import { DONE, INTERRUPTED, type ExitCode, writeLine, type Channel } from "../output/index.ts";
import type { Interrupts } from "./interrupts.ts";
import { goOnWith } from "./run-turn.ts";
import type { TurnView } from "./turn-view.ts";

export interface RerunRequest extends RerunPlace {
  readonly session: string;
  /** The fork's name. */
  readonly as: string;
}

/**
 * The session itself is not woken up: nothing is written to it. The runtime goes on with turns.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `REVISION_CONFLICT`, and what the turn throws
 */
export async function rerunTurn(
  runtime: Runtime,
  { session, as, ...place }: RerunRequest,
  around: { readonly view: TurnView; readonly interrupts: Interrupts; readonly progress: Channel },
): Promise<ExitCode> {
  const { view, interrupts, progress } = around;
  const { at, messageId } = await rerunPoint(runtime.log, session, place);
  await forkSession(runtime.log, session, { as, at });
  await writeLine(
    progress,
    progress.style("dim", `Session ${as} goes its own way from position ${at} of ${session}.`),
  );
  const fork = await runtime.session(as);
  const { finishReason } = await goOnWith(fork, messageId, at, view, interrupts);
  return finishReason === "cancelled" ? INTERRUPTED : DONE;
}
