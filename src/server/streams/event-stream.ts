/**
 * A streamed answer, of server-sent events or of lines. It reads its source only as fast as the client reads, so a slow client
 * costs a few kilobytes; one that stops reading is dropped, and resumes by its cursor.
 */

import { TurnlogError } from "../../events/index.ts";
import { onAbort } from "../../shared/index.ts";
import type { Problem } from "../problems/problem.ts";

/** One event. `data` may have any characters. */
export interface ServerSentEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

export interface StreamSettings {
  /** A comment is sent after this much silence, since proxies cut quiet connections. */
  readonly heartbeatMs: number;
  /** A client that reads nothing for this long is dropped. */
  readonly stallMs: number;
  /** Ends the stream; its reason is the last comment. */
  readonly closing: AbortSignal;
}

/** The events of a source; an error becomes an event of the name `problem`, and ends them. */
export async function* withProblem(
  events: AsyncIterable<ServerSentEvent>,
  problem: (error: unknown) => Problem,
): AsyncGenerator<ServerSentEvent, void, void> {
  try {
    yield* events;
  } catch (error) {
    yield { event: "problem", data: JSON.stringify(problem(error)) };
  }
}

/** How the items of a stream are written. */
interface Format<Item> {
  readonly mediaType: string;
  readonly write: (item: Item) => string;
  /** Sent after silence; readers skip it. */
  readonly heartbeat: string;
  /** Says why the server ends the stream. */
  readonly farewell: (reason: string) => string;
}

const serverSentEvents: Format<ServerSentEvent> = {
  mediaType: "text/event-stream",
  write: written,
  heartbeat: ":\n\n",
  farewell: (reason) => `: ${reason}\n\n`,
};

const lines: Format<string> = {
  mediaType: "application/x-ndjson",
  write: (text) => text,
  heartbeat: "\n",
  // A reader sees that the last line is missing.
  farewell: () => "",
};

/** The most bytes that wait for the client. */
const BUFFERED_BYTES = 16_384;

/**
 * The answer with the events of a source, which gets a signal that aborts when the client leaves. `ended`
 * is called once: the source is over, or the client left.
 */
export function eventStream(
  source: (left: AbortSignal) => AsyncIterable<ServerSentEvent>,
  settings: StreamSettings,
  headers: Readonly<Record<string, string>> = {},
  ended: () => void = () => {},
): Response {
  return streamed(serverSentEvents, source, settings, headers, ended);
}

/** The same of texts of whole lines. Its reader may pause for any time, as in a pager. */
export function lineStream(
  source: (left: AbortSignal) => AsyncIterable<string>,
  settings: StreamSettings,
  ended: () => void,
): Response {
  return streamed(lines, source, { ...settings, stallMs: Number.POSITIVE_INFINITY }, {}, ended);
}

function streamed<Item>(
  { mediaType, write, heartbeat, farewell }: Format<Item>,
  source: (left: AbortSignal) => AsyncIterable<Item>,
  { heartbeatMs, stallMs, closing }: StreamSettings,
  headers: Readonly<Record<string, string>>,
  ended: () => void,
): Response {
  const left = new AbortController();
  const iterator = source(left.signal)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  const everyMs = Math.max(1, Math.min(heartbeatMs, stallMs) / 4);
  /**
   * Beats since the client last read something. Beats are counted instead of time, so that a server that gets no
   * CPU does not count its own delay.
   */
  let beats = 0;
  let sentAt = performance.now();
  let isOver = false;
  let closes: Disposable | undefined;

  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(timer);
    closes?.[Symbol.dispose]();
    left.abort();
    void iterator.return?.(undefined)?.catch(() => {});
    ended();
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const close = (): void => {
          if (isOver) return;
          controller.enqueue(encoder.encode(farewell(String(closing.reason))));
          controller.close();
          finish();
        };
        const beat = (): void => {
          const now = performance.now();
          const isWaiting = (controller.desiredSize ?? 0) <= 0;
          beats += 1;
          if (isWaiting && beats * everyMs >= stallMs) {
            controller.error(stalled(stallMs));
            finish();
          } else if (!isWaiting && now - sentAt >= heartbeatMs) {
            sentAt = now;
            controller.enqueue(encoder.encode(heartbeat));
          }
        };
        timer = setInterval(beat, everyMs);
        timer.unref();
        closes = onAbort(closing, close);
      },
      async pull(controller) {
        beats = 0;
        try {
          const next = await iterator.next();
          if (isOver) return;
          if (next.done === true) {
            controller.close();
            finish();
            return;
          }
          sentAt = performance.now();
          beats = 0;
          controller.enqueue(encoder.encode(write(next.value)));
        } catch (error) {
          if (isOver) return;
          controller.error(error);
          finish();
        }
      },
      cancel: finish,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES }),
  );
  return new Response(body, {
    headers: {
      "content-type": mediaType,
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...headers,
    },
  });
}

function stalled(stallMs: number): TurnlogError {
  return new TurnlogError(
    "CLIENT_STALLED",
    `A client read nothing from its stream of events for ${stallMs} ms (\`stallMs\`), so it was dropped. It continues at its cursor when it connects again.`,
    { details: { stallMs } },
  );
}

/** The answer with a body that says itself when it has ended. */
export function openStream(body: ReadableStream<Uint8Array>, mediaType: string): Response {
  return new Response(body, { headers: { "content-type": mediaType, "x-accel-buffering": "no" } });
}

/** Whether an answer is one of {@link eventStream}, {@link lineStream} or {@link openStream}, which end by themselves. */
export function isEventStream({ headers }: Response): boolean {
  return headers.get("x-accel-buffering") === "no";
}

function written({ id, event, data }: ServerSentEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return [
    ...(id === undefined ? [] : [`id: ${id}\n`]),
    ...(event === undefined ? [] : [`event: ${event}\n`]),
    ...lines,
    "\n",
  ].join("");
}
