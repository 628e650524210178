/** What a press of Esc or Ctrl-C cancels, and the sentences about a cancel. Pure. */

import type { CancelMode } from "../../events/index.ts";
import type { Cancelled } from "../../runtime/index.ts";
import { amount } from "../wording/index.ts";
import { runningCalls, type ConversationState } from "./conversation-state.ts";

/**
 * The mode of the next press: the first waits for running tools, the second does not.
 * @param requested - The mode of the last press, whose event may not have arrived.
 */
export function nextCancel(
  state: ConversationState,
  requested: CancelMode | undefined,
): CancelMode | undefined {
  const mode = requested ?? state.stopping;
  if (mode === "now") return undefined;
  return mode === undefined && runningCalls(state).length > 0 ? "after-tools" : "now";
}

/** Sentences about what a cancel found and about waiting messages. The screen shows the turn's end itself. */
export function cancelSentences(
  { was, turn, ended, withdrawn }: Cancelled,
  waiting: number,
): readonly string[] {
  return [
    ...(turn === undefined && was === "idle" ? ["Nothing is running."] : []),
    ...(ended === undefined || ended === "cancelled"
      ? []
      : [`The turn ended before the cancel: ${ended}.`]),
    ...(withdrawn.length === 0 ? [] : [`${amount(withdrawn.length, "message")} taken back.`]),
    ...(waiting === 0
      ? []
      : [`${amount(waiting, "message")} held back: Enter delivers, /withdraw takes back.`]),
  ];
}
