/** The lines that a replay adds to the screen of a turn: messages, answers and cancels of the user. Pure. */

import type { SessionEvent } from "../../events/index.ts";
import type { CallLine } from "./call-lines.ts";
import { contentText } from "../wording/index.ts";

/** The line of an event that a person caused. The screen of a live chat shows none: it has what was typed. */
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
