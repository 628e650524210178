/**
 * Removes delta boundaries or reasoning from old steps. Number, types and positions of the events stay.
 * Called by the log, which stores the result, and by `verify`. Pure.
 */

import { type NewEvent, type SessionEvent, isDelta, type DeltaType } from "./catalogue.ts";
import type { ProviderMetadata } from "./json.ts";
import type { PositionRange, SessionFamily } from "./session-events.ts";

export type TrimRule = Pick<SessionFamily["session.thinned"], "drop" | "spans">;

type Delta = SessionEvent<DeltaType>;

/** A bounding event never changes, and no text moves across it: the folds at its position stay as they were. */
export function boundsTrimming({ type }: NewEvent): boolean {
  return !type.startsWith("part.");
}

export function isInRanges(spans: readonly PositionRange[], position: number): boolean {
  return spans.some(({ from, to }) => from <= position && position <= to);
}

/**
 * Unchanged events are the same objects; trimming again changes nothing.
 * @param events - In order, without a gap; the first and the last bound trimming
 * @param isCut - Whether a fork shares the events up to a position: no text moves across it either
 */
export function trimmed(
  events: readonly SessionEvent[],
  rules: readonly TrimRule[],
  isCut: (position: number) => boolean = () => false,
): readonly SessionEvent[] {
  const spansOf = (drop: TrimRule["drop"]): readonly PositionRange[] =>
    rules.flatMap((rule) => (rule.drop === drop ? rule.spans : []));
  return withoutBoundaries(
    withoutReasoning(events, spansOf("reasoning")),
    spansOf("boundaries"),
    isCut,
  );
}

function withoutReasoning(
  events: readonly SessionEvent[],
  spans: readonly PositionRange[],
): readonly SessionEvent[] {
  if (spans.length === 0) return events;
  const begun = new Set<string>();
  const result: SessionEvent[] = [];
  for (const event of events) {
    const { type, position } = event;
    if (boundsTrimming(event)) begun.clear();
    const before = result.at(-1);
    result.push(
      isInRanges(spans, position) ? withoutReasoningContent(event, begun, before) : event,
    );
    if (type === "part.reasoning-end") begun.delete(event.data.id);
    else if (type === "part.reasoning-start" || type === "part.reasoning-delta")
      begun.add(event.data.id);
  }
  return result;
}

function withoutReasoningContent(
  event: SessionEvent,
  begun: ReadonlySet<string>,
  before: SessionEvent | undefined,
): SessionEvent {
  switch (event.type) {
    case "part.reasoning-start":
    case "part.reasoning-end":
      if (event.data.dropped === true) return event;
      return { ...event, data: { id: event.data.id, dropped: true } };
    case "part.reasoning-delta": {
      const { id } = event.data;
      if (begun.has(id)) return emptied(event, before);
      if (event.data.dropped === true) return event;
      return { ...event, data: { id, text: "", dropped: true } };
    }
    case "part.reasoning-file":
      if (event.data.dropped === true) return event;
      return { ...event, data: { data: "", mediaType: event.data.mediaType, dropped: true } };
    case "part.raw":
      if (event.data.dropped === true) return event;
      return { ...event, data: { rawValue: null, dropped: true } };
    default:
      return event;
  }
}

/** Deltas of one block, joined into the first. */
interface Joined {
  readonly first: number;
  text: string;
  /** The newest metadata, as in the history. */
  metadata: ProviderMetadata | undefined;
}

function withoutBoundaries(
  events: readonly SessionEvent[],
  spans: readonly PositionRange[],
  isCut: (position: number) => boolean,
): readonly SessionEvent[] {
  if (spans.length === 0) return events;
  const result = [...events];
  const open = new Map<string, Joined>();
  const close = (key: string, joined: Joined): void => {
    const first = result[joined.first];
    if (first !== undefined && isDelta(first)) result[joined.first] = withAll(first, joined);
    open.delete(key);
  };
  for (const [index, event] of events.entries()) {
    const { position } = event;
    const key = blockOf(event);
    const known = key === undefined ? undefined : open.get(key);
    const joins = isDelta(event) && isJoinable(event) && isInRanges(spans, position);
    if (key !== undefined && joins && known !== undefined) {
      known.text += textOf(event);
      known.metadata = event.data.providerMetadata ?? known.metadata;
      result[index] = emptied(event, result[index - 1]);
    } else if (key !== undefined) {
      if (known !== undefined) close(key, known);
      const metadata = joins ? event.data.providerMetadata : undefined;
      if (joins) open.set(key, { first: index, text: textOf(event), metadata });
    }
    if (boundsTrimming(event) || isCut(position))
      for (const [block, joined] of open) close(block, joined);
  }
  for (const [block, joined] of open) close(block, joined);
  return result;
}

function blockOf({ type, data }: SessionEvent): string | undefined {
  switch (type) {
    case "part.text-start":
    case "part.text-delta":
    case "part.text-end":
      return `text ${data.id}`;
    case "part.reasoning-start":
    case "part.reasoning-delta":
    case "part.reasoning-end":
      return `reasoning ${data.id}`;
    case "part.tool-input-start":
    case "part.tool-input-delta":
    case "part.tool-input-end":
      return `input ${data.id}`;
    default:
      return undefined;
  }
}

function isJoinable({ id, data }: Delta): boolean {
  const known = data.providerMetadata === undefined ? 2 : 3;
  return id === undefined && Object.keys(data).length === known;
}

export function isEmptyDelta(event: SessionEvent): boolean {
  return isDelta(event) && hasOnlyText(event) && textOf(event) === "";
}

function hasOnlyText({ data }: Delta): boolean {
  return Object.keys(data).length === 2;
}

function textOf({ type, data }: Delta): string {
  return type === "part.tool-input-delta" ? data.delta : data.text;
}

function withAll(event: Delta, { text, metadata }: Joined): Delta {
  const { id, providerMetadata } = event.data;
  if (text === textOf(event) && metadata === providerMetadata) return event;
  const more = metadata === undefined ? {} : { providerMetadata: metadata };
  return event.type === "part.tool-input-delta"
    ? { ...event, data: { id, delta: text, ...more } }
    : { ...event, data: { id, text, ...more } };
}

/** The delta without text, at the time of the previous delta of its block. */
function emptied(event: Delta, before: SessionEvent | undefined): Delta {
  const isNext = before !== undefined && isDelta(before) && blockOf(before) === blockOf(event);
  const time = isNext ? before.time : event.time;
  if (isEmptyDelta(event) && time === event.time) return event;
  const { id } = event.data;
  return event.type === "part.tool-input-delta"
    ? { ...event, time, data: { id, delta: "" } }
    : { ...event, time, data: { id, text: "" } };
}
