/** What is said at the end of a turn: why it ended, what was kept, what it cost. Pure. */

import type { SessionEvent, TurnEndReason } from "../../events/index.ts";
import type { TurnTally } from "./turn-tally.ts";
import { amount, duration, tokens } from "../wording/index.ts";

/** Why, where it is not the usual end. */
export function endingSentence(reason: TurnEndReason, tally: TurnTally): string | undefined {
  switch (reason) {
    case "stop":
      return undefined;
    case "length":
      return "The reply ends here: the model has reached its limit of output.";
    case "content-filter":
      return "The provider's content filter has ended the reply.";
    case "max-steps":
      return "The turn ends here: it has taken as many steps as it may.";
    case "timed-out":
      return `The turn's time was up. ${keptOf(tally)}`;
    case "repeating":
      return `The turn was ended: the model did or said the same again and again. ${keptOf(tally)}`;
    case "cancelled":
      return `Cancelled. ${keptOf(tally)}`;
    case "failed":
      return `The turn failed. ${keptOf(tally)}`;
    case "interrupted":
      return `The turn was cut off. ${keptOf(tally)}`;
  }
}

/** `tokens: 1,490 in, 54 out (17 reasoning) · 2 steps · 119 ms` */
export function costLine(
  { time: at }: SessionEvent<"turn.ended">,
  { usage, steps, startedAt }: TurnTally,
): string {
  const took = startedAt === undefined ? "" : ` · ${duration(at - startedAt)}`;
  return `tokens: ${tokens(usage)} · ${amount(steps, "step")}${took}`;
}

function keptOf({ text, reasoning, results, skipped, unknown }: TurnTally): string {
  const kept = [
    "your message",
    ...(text === 0 ? [] : [`${amount(text, "character")} of the reply`]),
    ...(reasoning === 0 ? [] : [`${amount(reasoning, "character")} of reasoning`]),
    ...(results === 0 ? [] : [amount(results, "tool result")]),
  ];
  const sentences = [
    `Kept in the session: ${kept.join(", ")}.`,
    ...(skipped === 0 ? [] : [`${amount(skipped, "call")} not started.`]),
    ...(unknown === 0
      ? []
      : [`Of ${amount(unknown, "call")} nobody knows the outcome; the model will be told so.`]),
  ];
  return sentences.join(" ");
}
