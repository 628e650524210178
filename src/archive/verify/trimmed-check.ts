/** What is marked as taken out of the log was taken out because an event says so. */

import { isIn, type SessionEvent } from "../../events/index.ts";
import { nothing, type Check } from "./check.ts";

export function trimmedCheck(): Check {
  /** Positions of marks that no event has spoken of yet. */
  let marked: number[] = [];
  return {
    rule: "thinned",
    see(event) {
      if (isMarked(event)) marked.push(event.position);
      // A fork may branch off before the event that says it; what it shares is the other one's.
      if (event.type === "session.forked") marked = [];
      if (event.type !== "session.thinned") return nothing;
      const { drop, spans } = event.data;
      if (drop === "reasoning") marked = marked.filter((position) => !isIn(spans, position));
      return spans.every(({ from, to }) => from <= to && to < event.position)
        ? nothing
        : ["it speaks of events that do not lie before it"];
    },
    end: () =>
      marked.length === 0
        ? nothing
        : [`reasoning is missing at ${marked.join(", ")}, and no event says that it was dropped`],
  };
}

function isMarked({ type, data }: SessionEvent): boolean {
  switch (type) {
    case "part.reasoning-start":
    case "part.reasoning-delta":
    case "part.reasoning-end":
    case "part.reasoning-file":
    case "part.raw":
      return data.dropped === true;
    default:
      return false;
  }
}
