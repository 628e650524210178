/** Joins the deltas of a block that follow each other, so that a page loads a log without every single delta. */

import type { SessionEvent } from "../../events/index.ts";

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
    if (textOf(event) === undefined) yield { event };
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
    this.#texts = [textOf(first) ?? ""];
  }

  takes(event: SessionEvent): boolean {
    const text = textOf(event);
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

function textOf(event: SessionEvent): string | undefined {
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

function withText(event: SessionEvent, text: string): SessionEvent {
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
