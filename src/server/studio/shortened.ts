/**
 * What a page gets shorter at first, since megabytes take it seconds: the deltas of a block that follow each other are
 * joined, and large messages are cut. The page asks for the rest one by one. Pure.
 */

import type { SessionEvent } from "../../events/index.ts";
import type { ModelMessage } from "ai";
import type { PromptChange } from "../../projections/index.ts";

/** An event, or several deltas of one block as one. */
export interface MergedEvent {
  readonly event: SessionEvent;
  /** Of several: the last position and its time, and the length of each delta's text, in UTF-16 units. */
  readonly last?: {
    readonly position: number;
    readonly time: number;
    readonly lengths: readonly number[];
  };
}

export async function* mergedEvents(
  events: AsyncIterable<SessionEvent> | Iterable<SessionEvent>,
): AsyncGenerator<MergedEvent, void, void> {
  let run: Run | undefined;
  for await (const event of events) {
    if (run?.takes(event) === true) continue;
    if (run !== undefined) yield run.merged();
    run = undefined;
    if (deltaText(event) === undefined) yield { event };
    else run = new Run(event);
  }
  if (run !== undefined) yield run.merged();
}

class Run {
  readonly #first: SessionEvent;
  #last: SessionEvent;
  readonly #texts: string[];

  constructor(first: SessionEvent) {
    this.#first = first;
    this.#last = first;
    this.#texts = [deltaText(first) ?? ""];
  }

  takes(event: SessionEvent): boolean {
    const text = deltaText(event);
    if (text === undefined || blockOf(event) !== blockOf(this.#first)) return false;
    this.#texts.push(text);
    this.#last = event;
    return true;
  }

  merged(): MergedEvent {
    const { position, time } = this.#last;
    if (this.#texts.length === 1) return { event: this.#first };
    return {
      event: withText(this.#first, this.#texts.join("")),
      last: { position, time, lengths: this.#texts.map(({ length }) => length) },
    };
  }
}

/** The text of a delta; undefined for other events. The page joins live deltas by it too. */
export function deltaText(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "part.text-delta":
    case "part.reasoning-delta":
      return event.data.text;
    case "part.tool-input-delta":
      return event.data.delta;
    default:
      return undefined;
  }
}

/** Deltas with metadata of their own stay apart, since it belongs to their text. */
function blockOf({ type, position, data }: SessionEvent): string {
  const id = "id" in data ? JSON.stringify(data.id) : "";
  return `${type} ${id} ${"providerMetadata" in data ? position : ""}`;
}

export function withText(event: SessionEvent, text: string): SessionEvent {
  switch (event.type) {
    case "part.text-delta":
    case "part.reasoning-delta":
      return { ...event, data: { ...event.data, text } };
    case "part.tool-input-delta":
      return { ...event, data: { ...event.data, delta: text } };
    default:
      return event;
  }
}

/** Of one part of a message, in characters of its JSON. */
const MOST = 10_000;
const MOST_ENTRIES = 100;
/** What is kept once the part has its length: the names of its types. */
const FEW_NAMES = 10;
const SHORT = 50;

/** `characters`: of the whole content, if parts of it are left out. */
export type CutMessage = ModelMessage & { readonly characters?: number };

export function cutMessage(message: ModelMessage): CutMessage {
  const { content } = message;
  const parts: readonly unknown[] = typeof content === "string" ? [content] : content;
  const lengths = parts.map((part) => JSON.stringify(part).length);
  if (lengths.every((length) => length <= MOST)) return message;
  const short = typeof content === "string" ? cutJson(content) : content.map(cutJson);
  const characters = lengths.reduce((sum, length) => sum + length, 0);
  // The page shows any JSON.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...message, content: short, characters } as CutMessage;
}

export function cutChange(change: PromptChange): PromptChange {
  return change.kind === "changed"
    ? { ...change, before: cutMessage(change.before), after: cutMessage(change.after) }
    : { ...change, message: cutMessage(change.message) };
}

/** The beginning of each text, list and object, until there are enough characters. */
function cutJson(value: unknown): unknown {
  let left = MOST;
  const cut = (_: string, inner: unknown): unknown => {
    if (typeof inner === "string") {
      const most = Math.max(SHORT, left);
      left -= inner.length;
      return inner.length > most ? `${inner.slice(0, most)}…` : inner;
    }
    left -= 4;
    if (typeof inner !== "object" || inner === null) return inner;
    if (Array.isArray(inner)) return inner.slice(0, left > 0 ? MOST_ENTRIES : 0);
    const most = left > 0 ? MOST_ENTRIES : FEW_NAMES;
    return Object.fromEntries(Object.entries(inner).slice(0, most));
  };
  return JSON.parse(JSON.stringify(value, cut));
}
