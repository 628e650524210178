import type { EventMap, SessionEvent } from "../../src/events/index.ts";

type Ended = EventMap["turn.ended"];

/** Holds the output of each turn against the text of its last reply. */
export function outputProblems(
  events: readonly SessionEvent[],
  isRight: (ended: Ended, text: string) => boolean,
): readonly string[] {
  let text = "";
  return events.flatMap((event) => {
    if (event.type === "step.started") text = "";
    if (event.type === "part.text-delta") text += event.data.text;
    if (event.type !== "turn.ended" || isRight(event.data, text)) return [];
    const { turn, reason, output } = event.data;
    return [`the output of turn ${turn} (${reason}) is ${JSON.stringify(output)}`];
  });
}
