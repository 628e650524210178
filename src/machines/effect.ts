/** What the machine asks for, as data. The runtime interprets each; one or more logged events answer it. */

import type { TurnEndReason } from "../events/index.ts";

export type Effect =
  /** Begin a turn with the waiting messages: `turn.started`. */
  | { readonly type: "startTurn" }
  /** Deliver what is due and begin a step: `message.delivered`, `step.started`. */
  | { readonly type: "startStep" }
  /** Call the model: parts, then `step.finished`, `step.failed`, `step.interrupted` or `step.retrying`. */
  | { readonly type: "callModel" }
  /** Wait, then `step.started` with the next attempt. */
  | { readonly type: "backOff" }
  /** After a prompt that was too long: compact and try once more, or give the step up. */
  | { readonly type: "freeContext" }
  /** Bring every call of the step to its end. Safe to ask for again. */
  | { readonly type: "runTools" }
  /** Run the compaction: `context.compacted` or `context.compaction-rejected`. */
  | { readonly type: "compact" }
  /** Stop what runs; it says itself how it ended. */
  | { readonly type: "abort" }
  /** Record what a dead process cannot say any more. */
  | { readonly type: "settle" }
  /** `turn.ended`. */
  | { readonly type: "endTurn"; readonly params: { readonly reason: TurnEndReason } };

const types: Readonly<Record<Effect["type"], true>> = {
  startTurn: true,
  startStep: true,
  callModel: true,
  backOff: true,
  freeContext: true,
  runTools: true,
  compact: true,
  abort: true,
  settle: true,
  endTurn: true,
};

/** Tells effects apart from the assignments that XState returns beside them. */
export function isEffect(action: { readonly type: string }): action is Effect {
  return Object.hasOwn(types, action.type);
}
