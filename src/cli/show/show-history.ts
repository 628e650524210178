/** Prints the history of a session in the chat's lines, each with its position. */

import { type SessionEvent, textStart } from "../../events/index.ts";
import {
  type QueuedMessage,
  leftBranches,
  type HistoryItem,
  type SpanKind,
  type StepTimeline,
  type TimelineSpan,
} from "../../projections/index.ts";
import type { Channel, Style } from "../output/output.ts";
import { visibleText, visibleName } from "../output/visible-text.ts";
import {
  contentText,
  dateAndTime,
  shortened,
  usualLengths,
  type Lengths,
  amount,
  figure,
  timeOfDay,
  duration,
  excerpt,
} from "../wording/wording.ts";
import { EventLines } from "../wording/event-lines.ts";
import type { SessionBranch, SessionState } from "../../state/index.ts";
import { contextWords } from "../wording/context-words.ts";

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

// The branches of a session: each on one line, and marks of what is not on the active one. Pure.

/** `*` marks the active branch. */
export function branchLine({ id, turns, lastAt, active, forkedAt }: SessionBranch): string {
  const from = forkedAt === undefined ? "" : `, from position ${forkedAt}`;
  const last = lastAt === undefined ? "" : `, last ${dateAndTime(lastAt)}`;
  return `${active ? "*" : " "} ${id}: ${amount(turns, "turn")}${from}${last}`;
}

export type LeftAt = (position: number) => number | undefined;

/** The history of all branches, in the order of the log. */
export function allItems({ boundaries, branches, history }: SessionState): readonly HistoryItem[] {
  const leftAt = leftBranches(branches);
  const left = boundaries.items.filter(({ position }) => leftAt(position) !== undefined);
  const active = history.open === undefined ? history.items : [...history.items, history.open];
  return [...left, ...active].toSorted((one, other) => one.position - other.position);
}

/** Adds `leftBranch` to an event or an item that is off the active branch. */
export function withLeftBranch<Value extends { readonly position: number }>(
  value: Value,
  leftAt: LeftAt,
): Value & { readonly leftBranch?: number } {
  const leftBranch = leftAt(value.position);
  return leftBranch === undefined ? value : { ...value, leftBranch };
}

/** Marks a line whose event is off the active branch. */
export function leftMark(position: number, leftAt: LeftAt): string {
  const branch = leftAt(position);
  return branch === undefined ? "" : `[left: branch ${branch}] `;
}

// One event on one line. Pure.

/**
 * Cut at the terminal's width, with the size of the whole; whole without a terminal, so that it can be
 * searched. `full`: whole in a terminal, too. `leftAt`: marks the events that are off the active branch.
 */
export function eventLine(
  event: SessionEvent,
  data: Channel,
  full = false,
  leftAt: LeftAt = () => undefined,
): string {
  const type = event.type === "unknown" ? event.data.type : event.type;
  const content = event.type === "unknown" ? event.data.data : event.data;
  const place = `${String(event.position).padStart(6)}  ${timeOfDay(event.time)}  `;
  const name = visibleName(type).padEnd(24);
  const words = contextWords(event);
  const mark = leftMark(event.position, leftAt);
  const json = `${mark}${words === undefined ? "" : `${words} `}${JSON.stringify(content)}`;
  const width =
    data.columns === undefined || full
      ? json.length
      : Math.max(20, data.columns - place.length - 25);
  const size = `… [${figure(json.length)}]`;
  const text = json.length > width ? `${textStart(json, width - size.length)}${size}` : json;
  return `${data.style("dim", place)}${data.style(styleOf(type), name)} ${visibleText(text)}`;
}

function styleOf(type: string): "dim" | "red" | "cyan" | "yellow" {
  if (/failed|denied|unknown|interrupted|rejected|error/.test(type)) return "red";
  if (/-delta$|-start$|-end$/.test(type)) return "dim";
  return /^(session|message|turn)\./.test(type) ? "yellow" : "cyan";
}

// The time of each step as bars, on one time scale per step. Pure.

/** Characters in a line without a terminal. */
const COLUMNS = 100;
const NAME_COLUMNS = 22;
const TIME_COLUMNS = 24;

const styles: Readonly<Record<SpanKind, Style>> = {
  waiting: "dim",
  reasoning: "magenta",
  text: "green",
  input: "blue",
  gap: "dim",
  retry: "red",
  approval: "yellow",
  output: "yellow",
  tool: "cyan",
};

export function timelineLines(
  timelines: readonly StepTimeline[],
  data: Channel,
): readonly string[] {
  return timelines.flatMap((timeline) => [...stepLines(timeline, data), ""]);
}

function stepLines(timeline: StepTimeline, data: Channel): readonly string[] {
  const { turn, step, attempts, model, startedAt, outcome = "running" } = timeline;
  const again = attempts > 1 ? `, attempt ${attempts}` : "";
  const end = outcome === "finished" ? "" : `, ${outcome}`;
  const head = `${visibleName(model.modelId)} step ${step}${again}${end}`;
  return [
    `${data.style("bold", head)}${data.style("dim", ` · turn ${turn} · ${timeOfDay(startedAt)}`)}`,
    ...timeline.spans.map((span) => spanLine(span, timeline, data)),
    data.style("dim", `  ${summary(timeline)}`),
  ];
}

function spanLine(span: TimelineSpan, { totalMs }: StepTimeline, data: Channel): string {
  const { kind, label, from, to, outcome } = span;
  const name = visibleText(excerpt(label === undefined ? kind : `${kind} ${label}`, NAME_COLUMNS));
  const barColumns = (data.columns ?? COLUMNS) - NAME_COLUMNS - TIME_COLUMNS - 6;
  const bar = barOf(span, totalMs, Math.max(10, barColumns));
  const time = to === undefined ? "no end" : duration(to - from);
  const how = outcome === undefined || outcome === "succeeded" ? "" : ` ${outcome}`;
  return `  ${name.padEnd(NAME_COLUMNS)} ${data.style(styles[kind], bar)} ${time}${how}`;
}

/** Every span has at least one column; a span without an end extends to the last column. */
function barOf({ kind, from, to }: TimelineSpan, totalMs: number, columns: number): string {
  const scale = totalMs === 0 ? 0 : columns / totalMs;
  const begin = Math.min(columns - 1, Math.floor(from * scale));
  const end = to === undefined ? columns : Math.ceil(to * scale);
  const length = Math.max(1, Math.min(columns, end) - begin);
  const sign = kind === "gap" || kind === "waiting" ? "░" : "█";
  return `${"·".repeat(begin)}${sign.repeat(length)}${"·".repeat(columns - begin - length)}`;
}

function summary({ totalMs, firstTokenMs, usage, tokensPerSecond }: StepTimeline): string {
  const words = [`${duration(totalMs)} in all`];
  words.push(
    firstTokenMs === undefined ? "no token came" : `first token after ${duration(firstTokenMs)}`,
  );
  if (usage !== undefined) {
    const about = usage.basis === "estimated" ? "~" : "";
    words.push(`${about}${amount(usage.outputTokens, "token")} out`);
  }
  if (tokensPerSecond !== undefined) words.push(`${perSecond(tokensPerSecond)} tokens/s`);
  return words.join(", ");
}

function perSecond(tokens: number): string {
  return tokens < 100 ? tokens.toFixed(1) : figure(Math.round(tokens));
}
