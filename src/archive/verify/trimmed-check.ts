/** Each reasoning part that is marked as dropped is in a span of a `session.thinned`. */

import type { SessionEvent } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";

export function trimmedCheck(): Check {
  /** Positions of dropped parts that no `session.thinned` has named yet. */
  let marked: number[] = [];
  return {
    rule: "thinned",
    onEvent(event) {
      if (isMarked(event)) marked.push(event.position);
      // A fork may branch off before that event: the shared part belongs to its origin.
      if (event.type === "session.forked") marked = [];
      if (event.type !== "session.thinned") return noFaults;
      const { drop, spans } = event.data;
      const isNamed = (position: number): boolean =>
        spans.some(({ from, to }) => from <= position && position <= to);
      if (drop === "reasoning") marked = marked.filter((position) => !isNamed(position));
      return spans.every(({ from, to }) => from <= to && to < event.position)
        ? noFaults
        : ["it speaks of events that do not lie before it"];
    },
    onEnd: () =>
      marked.length === 0
        ? noFaults
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
