/** Stopping a session's turn: how it is asked for, and what is said of it afterwards. */

import type { CancelMode, TurnEndReason } from "../../events/index.ts";
import type { ToolCall } from "../../projections/index.ts";
import type { SessionActor } from "./session-actor.ts";

/** How a turn is stopped. */
export interface CancelOptions {
  /**
   * `now` (default) stops what runs. `after-tools` lets the model's step and the tools that it calls
   * come to their end; calls that wait for approval are not run.
   */
  readonly mode?: CancelMode;
  readonly reason?: string;
  /** Takes the waiting messages back as well. Default: they wait on. */
  readonly withdraw?: boolean;
}

/** What was going on when a turn was cancelled, and what is kept of it. */
export interface Cancelled {
  readonly was: "idle" | "streaming" | "tools" | "compacting";
  readonly turn: number | undefined;
  /** How it ended; another reason than `cancelled` when it was about to end anyway. */
  readonly ended: TurnEndReason | undefined;
  readonly kept: {
    /** What the model had said in the turn's last step. */
    readonly text: string;
    /** What became of the calls of that step. */
    readonly calls: readonly Pick<ToolCall, "callId" | "toolName" | "status">[];
  };
  /** Ids of the messages that were taken back. */
  readonly withdrawn: readonly string[];
}

/** Records that the turn is to stop, and answers what it was doing; without a turn there is none to name. */
export function requestCancel(
  actor: SessionActor,
  { mode = "now", reason, withdraw = false }: CancelOptions,
): Pick<Cancelled, "was" | "turn" | "withdrawn"> {
  const { machine, queue } = actor.state;
  const told = reason === undefined ? {} : { reason };
  const waiting = withdraw && !machine.matches("closed") ? queue.waiting : [];
  const withdrawn = waiting.map((message) => message.id);
  if (withdrawn.length > 0) {
    actor.record({ type: "message.withdrawn", data: { ids: withdrawn, ...told } });
  }
  const was = activity(actor);
  const { turn, stopping, skipCalls, compactingFrom } = machine.context;
  // Asked for again, `now` still hurries a turn that was to stop after its tools.
  if (was !== "idle" && (stopping === undefined || (mode === "now" && !skipCalls))) {
    actor.record({ type: "turn.cancel-requested", data: { turn, mode, ...told } });
  }
  const isBetweenTurns = was === "idle" || (was === "compacting" && compactingFrom === "idle");
  return { was, turn: isBetweenTurns ? undefined : turn, withdrawn };
}

function activity({ state: { machine } }: SessionActor): Cancelled["was"] {
  if (machine.matches("idle") || machine.matches("closed")) return "idle";
  if (machine.matches("tools")) return "tools";
  return machine.matches("compacting") ? "compacting" : "streaming";
}
