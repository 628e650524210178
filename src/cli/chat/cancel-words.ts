/** What a press of Esc or Ctrl-C asks for, and what is said of a cancel besides what the screen has told. Pure. */

import type { CancelMode } from "../../events/index.ts";
import type { Cancelled } from "../../runtime/index.ts";
import { amount } from "../wording/index.ts";
import { runningCalls, type ConversationState } from "./conversation-state.ts";

/** What the next press asks for: tools that run may end first, unless it is pressed again. */
export function nextCancel(
  state: ConversationState,
  asked: CancelMode | undefined,
): CancelMode | undefined {
  const known = asked ?? state.stopping;
  if (known === "now") return undefined;
  return known === undefined && runningCalls(state).length > 0 ? "after-tools" : "now";
}

/** Sentences about the turn that was to stop and the messages that wait. The turn's own end is told by its event. */
export function cancelSentences(
  { was, turn, ended, withdrawn }: Cancelled,
  waiting: number,
): readonly string[] {
  return [
    ...(turn === undefined && was === "idle" ? ["Nothing is running."] : []),
    ...(ended === undefined || ended === "cancelled"
      ? []
      : [`The turn came to its own end first: ${ended}.`]),
    ...(withdrawn.length === 0 ? [] : [`${amount(withdrawn.length, "message")} taken back.`]),
    ...(waiting === 0
      ? []
      : [`${amount(waiting, "message")} held back: Enter delivers, /withdraw takes back.`]),
  ];
}
