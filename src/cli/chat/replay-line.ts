/** What is told of a session that is shown again, beside what a turn's screen tells: who said what to it. Pure. */

import type { SessionEvent } from "../../events/index.ts";
import type { CallLine } from "./call-lines.ts";
import { contentText } from "../wording/index.ts";

/** The line of an event that a screen is not told of, since there a person has made it; undefined for all others. */
export function replayLine(event: SessionEvent): CallLine | undefined {
  switch (event.type) {
    case "message.queued": {
      const { content, delivery } = event.data;
      const place = delivery === "steer" ? " (next step)" : "";
      return { text: `> ${contentText(content)}${place}`, style: "bold" };
    }
    case "message.withdrawn":
      return { text: `Taken back: ${event.data.ids.join(", ")}`, style: "dim" };
    case "turn.cancel-requested":
      return { text: `Cancelled${because(event.data.reason)}`, style: "yellow" };
    case "tool.approval-answered": {
      const { approved, always, reason, by } = event.data;
      const answer = `${approved ? "yes" : "no"}${by === undefined ? "" : ` (${by})`}`;
      return {
        text: `> ${answer}${always === true ? ", for good" : ""}${because(reason)}`,
        style: "bold",
      };
    }
    case "session.approval-forgotten":
      return { text: `> ask again about ${event.data.toolName}`, style: "bold" };
    case "context.compacted": {
      const { strategy, beforeTokens, afterTokens } = event.data;
      const [before, after] = [beforeTokens, afterTokens].map((count) => Math.round(count));
      return { text: `Compacted (${strategy}): ${before} → ${after} tokens`, style: "dim" };
    }
    case "context.pruned":
      return {
        text: `Pruned: ${Math.round(event.data.savedTokens)} tokens of old results`,
        style: "dim",
      };
    case "context.media-omitted":
      return { text: `Left out: the oldest files, ${event.data.media}`, style: "dim" };
    case "context.restored":
      return { text: `Undone: what was left out at ${event.data.position}`, style: "dim" };
    case "session.recovered":
      return { text: `The process had died (${event.data.inFlight.kind})`, style: "yellow" };
    case "session.closed":
      return { text: `Closed${because(event.data.reason)}`, style: "dim" };
    default:
      return undefined;
  }
}

function because(reason: string | undefined): string {
  return reason === undefined ? "" : `: ${reason}`;
}
