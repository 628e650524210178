/** Prints the history of a session in the chat's lines, each with its position. */

import type { SessionEvent } from "../../events/index.ts";
import type { QueuedMessage } from "../../projections/index.ts";
import type { Channel, Style } from "../output/output.ts";
import { visibleText } from "../output/visible-text.ts";
import {
  contentText,
  dateAndTime,
  shortened,
  usualLengths,
  type Lengths,
} from "../wording/wording.ts";
import { EventLines } from "../wording/event-lines.ts";
import { leftMark, type LeftAt } from "./show-branches.ts";

export interface ShownHistory {
  /** The events of all branches. */
  readonly events: AsyncIterable<SessionEvent>;
  /** The messages that wait at the end. */
  readonly queue: readonly QueuedMessage[];
  readonly leftAt: LeftAt;
}

const PLACE = " ".repeat(8);

export async function* historyLines(
  { events, queue, leftAt }: ShownHistory,
  data: Channel,
  lengths: Lengths = usualLengths,
): AsyncGenerator<string> {
  const told = new EventLines({ columns: () => data.columns, isWhole: true, lengths });
  /** What the model has said in the blocks that are open. */
  const blocks = new Map<string, string>();
  let position = 0;
  const rows = (
    text: string,
    indent: string,
    style?: Style,
    at: number = position,
  ): readonly string[] => {
    const [first = "", ...rest] = visibleText(text).trimEnd().split("\n");
    const place = data.style("dim", `${String(at).padStart(6)}  `);
    const styled = (row: string): string => (style === undefined ? row : data.style(style, row));
    return [
      `${place}${leftMark(at, leftAt)}${styled(first)}`,
      ...rest.map((row) => `${PLACE}${indent}${styled(row)}`.trimEnd()),
    ];
  };
  const ended = (block: string): readonly string[] => {
    const text = blocks.get(block)?.trim() ?? "";
    blocks.delete(block);
    const style = block.startsWith("reasoning") ? "dim" : undefined;
    return text === "" ? [] : rows(shortened(text, lengths.text), "", style);
  };
  for await (const event of events) {
    ({ position } = event);
    for (const line of told.take(event)) yield* rows(line.text, "  ", line.style, line.position);
    switch (event.type) {
      case "turn.started":
        yield `\n${data.style("bold", `Turn ${event.data.turn}`)} · ${dateAndTime(event.time)}`;
        break;
      case "step.started": {
        const { model, step, attempt } = event.data;
        const again = attempt > 1 ? `, attempt ${attempt}` : "";
        yield* rows(`${model.modelId}, step ${step}${again}`, "  ", "dim");
        break;
      }
      case "part.text-delta":
      case "part.reasoning-delta": {
        const block = blockOf(event);
        blocks.set(block, (blocks.get(block) ?? "") + event.data.text);
        break;
      }
      case "part.reasoning-start":
        if (event.data.dropped === true) yield* rows("[reasoning dropped]", "", "dim");
        break;
      case "part.text-end":
      case "part.reasoning-end":
        yield* ended(blockOf(event));
        break;
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        // A cut reply has blocks without an end.
        for (const block of blocks.keys()) yield* ended(block);
        break;
      default:
    }
  }
  for (const block of blocks.keys()) yield* ended(block);
  for (const line of told.rest()) yield* rows(line.text, "  ", line.style, line.position);
  for (const message of queue) {
    ({ position } = message);
    const { delivery, notBefore, content } = message;
    const time = notBefore === undefined ? "" : `, not before ${new Date(notBefore).toISOString()}`;
    yield* rows(`Waiting (${delivery}${time}): ${contentText(content)}`, "  ", "cyan");
  }
}

type BlockEvent = SessionEvent<
  "part.text-delta" | "part.text-end" | "part.reasoning-delta" | "part.reasoning-end"
>;

function blockOf({ type, data }: BlockEvent): string {
  return `${type.startsWith("part.text") ? "text" : "reasoning"} ${data.id}`;
}
