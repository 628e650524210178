/** The messages that the next step would send, for people. Pure. */

import type { SessionView } from "../../runtime/index.ts";
import { shown, type Channel } from "../output.ts";
import { amount, excerpt, indented } from "../wording.ts";

type Message = SessionView["prompt"][number];
type Part = Exclude<Message["content"], string>[number];

export function promptLines({ prompt }: SessionView, data: Channel): readonly string[] {
  const lines = prompt.flatMap((message) => [
    data.style("bold", message.role),
    ...messageLines(message, data),
    "",
  ]);
  const size = amount(JSON.stringify(prompt).length, "character");
  return [...lines, data.style("dim", `${amount(prompt.length, "message")}, ${size} of JSON`)];
}

/** What a message says, a little to the right. */
export function messageLines({ content }: Message, data: Channel): readonly string[] {
  const text = typeof content === "string" ? content : content.map(partText).join("\n");
  return indented(shown(data, text));
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return `(reasoning) ${part.text}`;
    case "tool-call":
      return `(call ${part.toolCallId}) ${part.toolName} ${excerpt(JSON.stringify(part.input), 400)}`;
    case "tool-result":
      return `(result ${part.toolCallId}) ${part.toolName} ${excerpt(JSON.stringify(part.output), 400)}`;
    default:
      return `(${part.type}) ${excerpt(JSON.stringify(part), 400)}`;
  }
}
