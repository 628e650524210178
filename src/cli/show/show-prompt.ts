/** The messages that the next step would send. Pure. */

import type { SessionView } from "../../state/index.ts";
import type { Channel } from "../output/output.ts";
import { visibleName, visibleText } from "../output/visible-text.ts";
import {
  amount,
  indented,
  shortened,
  shortenedJson,
  usualLengths,
  type Lengths,
} from "../wording/wording.ts";

type Message = SessionView["prompt"][number];
type Part = Exclude<Message["content"], string>[number];

export function promptLines(
  { prompt }: SessionView,
  data: Channel,
  lengths: Lengths = usualLengths,
): readonly string[] {
  const lines = prompt.flatMap((message) => [
    data.style("bold", message.role),
    ...messageLines(message, data, lengths),
    "",
  ]);
  const size = amount(JSON.stringify(prompt).length, "character");
  return [...lines, data.style("dim", `${amount(prompt.length, "message")}, ${size} of JSON`)];
}

export function messageLines(
  { content }: Message,
  data: Channel,
  lengths: Lengths = usualLengths,
): readonly string[] {
  const text =
    typeof content === "string"
      ? shortened(content, lengths.text)
      : content.map((part) => partText(part, lengths)).join("\n");
  return indented(visibleText(text));
}

function partText(part: Part, { text, value }: Lengths): string {
  switch (part.type) {
    case "text":
      return shortened(part.text, text);
    case "reasoning":
      return `(reasoning) ${shortened(part.text, text)}`;
    case "tool-call":
      return `(call ${visibleName(part.toolCallId)}) ${visibleName(part.toolName)} ${shortenedJson(part.input, value)}`;
    case "tool-result":
      return `(result ${visibleName(part.toolCallId)}) ${visibleName(part.toolName)} ${shortenedJson(part.output, value)}`;
    default:
      return `(${part.type}) ${shortenedJson(part, value)}`;
  }
}
