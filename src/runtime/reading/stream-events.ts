/** The stream of a session's events for readers elsewhere, past, then live. Reads the session's public interface only. */

import type { z } from "zod";
import { defined, TurnlogError, type SessionEvent } from "../../events/index.ts";
import type { SessionView } from "../../state/index.ts";
import {
  isHidden,
  uiEncoder,
  type AcceptedMessage,
  type EventEncoder,
  type Hidden,
  type SessionChunk,
  type ShownOptions,
} from "../../ui/index.ts";
import {
  check,
  code,
  flag,
  implementation,
  many,
  name,
  optionsOf,
  position,
  thing,
} from "../../validation/index.ts";
import { atOnce, firstAbort, toStoredError } from "../../shared/index.ts";
import type { Session } from "../api/session.ts";
import { withProgress } from "../live/sub-agents.ts";
import { withdrawn } from "../session/turn.ts";

/** Default: the last reply of the active branch, or the turn that runs. */
type StreamPlace =
  | { readonly turn?: never; readonly messageId?: never; readonly from?: never }
  /** The turn of that number, on any branch. */
  | { readonly turn: number; readonly messageId?: never; readonly from?: never }
  /** The turn that delivers that message, even while the message still waits. */
  | { readonly messageId: string; readonly turn?: never; readonly from?: never }
  /** A position: the turn that runs there, and all that follows. */
  | { readonly from: number; readonly turn?: never; readonly messageId?: never };

/** What the messages show, those of sub-agents too. */
interface StreamEnds extends ShownOptions {
  /**
   * Whether the stream ends when the turn has ended, waits for approvals or outputs, or its message is held
   * back. Default: true. With false, the stream continues with later turns until it is cancelled.
   */
  readonly untilRest?: boolean;
  /**
   * A position up to which the reader has the chunks, as after a lost connection, or when it answers an
   * approval: the stream sends the chunks that the encoder `repeats`, and else only those of later events.
   */
  readonly after?: number;
}

/** Options of {@link streamEvents} and {@link uiStream}: at most one of `turn`, `messageId` and `from`. */
export type StreamOptions = StreamPlace & StreamEnds;

interface StreamFields extends StreamEnds {
  readonly turn?: number;
  readonly messageId?: string;
  readonly from?: number;
}

/** Within the package also `each`: every event from a position, in turns and between them, while there is a log. */
type ReadFields = StreamFields & { readonly each?: number };

/** The chunks of one event, and its position: a reader that has them all resumes with it as `after`. */
export interface EventChunks<Chunk> {
  readonly position: number;
  readonly chunks: readonly Chunk[];
}

/** Asked before an event leaves, or what a sub-agent says. @throws what ends the stream */
type Gate = (event?: SessionEvent) => Promise<unknown> | undefined;

export const hiddenSchema: z.ZodType<readonly Hidden[]> = thing(
  'a list of "reasoning", "tool-data", "usage" and "model"',
  (value) => Array.isArray(value) && value.every(isHidden),
);

const schema = optionsOf<StreamFields>(
  {
    turn: position,
    messageId: name,
    from: position,
    untilRest: flag,
    after: many,
    blobUrl: code,
    errorText: code,
    hide: hiddenSchema,
  },
  {},
).and(thing("an object with at most one of `turn`, `messageId` and `from`", hasOnePlace));

const encoderSchema = implementation(
  { initial: code, encode: code },
  { progress: code, repeats: code },
);

function hasOnePlace(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const places = ["turn", "messageId", "from"].map((place): unknown => Reflect.get(value, place));
  return places.filter((place) => place !== undefined).length <= 1;
}

/**
 * A session's events in a protocol of your own: an encoder maps each event to chunks, and the stream does the
 * rest. It begins with a whole turn, past and then live, without a gap. Each item has the chunks of one event, and
 * its position: a reader that lost its connection passes it as `after` and gets the chunks that it has not got.
 * A chunk is made when the reader asks for it, so a slow reader holds back its own stream only. Cancelling the
 * stream leaves the turn alone.
 * @throws TurnlogError `INVALID_INPUT` for the options or the encoder. The stream fails with `INVALID_INPUT` (no
 * such turn, message or position), `COMMAND_REFUSED` (the message was withdrawn), `CALLBACK_FAILED` (the encoder
 * threw, or returned something else than chunks), `SESSION_FAILED`, `RUNTIME_CLOSED`
 * @example
 * const words: EventEncoder<undefined, string> = {
 *   initial: () => undefined,
 *   encode: (state, { type, data }) => ({
 *     state,
 *     chunks: type === "part.text-delta" ? [data.text] : [],
 *   }),
 * };
 * for await (const { position, chunks } of streamEvents(session, { untilRest: true }, words))
 *   console.log(position, chunks.join(""));
 */
export function streamEvents<State, Chunk>(
  session: Session,
  options: StreamOptions,
  encoder: EventEncoder<State, Chunk>,
): ReadableStream<EventChunks<Chunk>> {
  check(schema, options, "streamEvents", { name: "options", session: session.id });
  check(encoderSchema, encoder, "streamEvents", { name: "encoder", session: session.id });
  return pulled(
    (left) => encodedEvents(session, { ...options }, encoder, left),
    (one) => [one],
  );
}

/**
 * {@link streamEvents} in the AI SDK's protocol: the chunks of a session's replies, whole messages from their
 * `start`.
 * @throws TurnlogError as {@link streamEvents}
 * @example
 * const turn = await session.send(fromUIMessage(message), { id: message.id });
 * const stream = uiStream(session, { messageId: message.id });
 * return createUIMessageStreamResponse({ stream });
 */
export function uiStream(
  session: Session,
  options: StreamOptions = {},
): ReadableStream<SessionChunk> {
  check(schema, options, "uiStream", { name: "options", session: session.id });
  const encoder = uiEncoder({ session: session.id, ...shownIn(options) });
  return pulled(
    (left) => encodedEvents(session, { ...options }, encoder, left),
    ({ chunks }) => chunks,
  );
}

function shownIn({ blobUrl, errorText, hide }: ShownOptions): ShownOptions {
  return defined({ blobUrl, errorText, hide });
}

/** A stream whose items are made when its reader asks for one. */
function pulled<Item, Out>(
  read: (left: AbortSignal) => AsyncGenerator<Item, void, void>,
  outOf: (item: Item) => readonly Out[],
): ReadableStream<Out> {
  const left = new AbortController();
  const items = read(left.signal);
  return new ReadableStream<Out>(
    {
      async pull(controller) {
        const next = await items.next();
        if (next.done === true) controller.close();
        else for (const out of outOf(next.value)) controller.enqueue(out);
      },
      async cancel() {
        left.abort();
        await items.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * The chunks by events. Checks no arguments. Ends when `left` aborts.
 * @param given - The encoder, or what makes it for a stream that begins behind a position.
 */
export async function* encodedEvents<State, Chunk>(
  session: Session,
  fields: ReadFields,
  given: EventEncoder<State, Chunk> | ((behind: number) => Promise<EventEncoder<State, Chunk>>),
  left: AbortSignal,
  gate?: Gate,
): AsyncGenerator<EventChunks<Chunk>, void, void> {
  const { each, untilRest = each === undefined, after = 0 } = fields;
  const { readFrom, last, messages, isWanted, endsWithTurn } = await startOf(session, fields);
  const encoder = typeof given === "function" ? await given(readFrom - 1) : given;
  const over = new AbortController();
  using ends = firstAbort(left, over.signal);
  const { signal } = ends;
  let seen = readFrom - 1;
  let restsAt = Infinity;

  const watch = (): Promise<void> => {
    const resting = session.atRest({ signal }).then(({ position: at }) => {
      if (untilRest) restsAt = at;
      if (seen >= restsAt) over.abort();
    });
    resting.catch(() => {
      over.abort();
    });
    return resting;
  };

  const { id } = session;
  let turn = 0;
  let isOpen = false;
  /** The chunks of a turn, until it turns out to be wanted. */
  const held: EventChunks<Chunk>[] = [];
  try {
    let resting = each === undefined ? watch() : undefined;
    let state = called(id, "initial", readFrom, () => encoder.initial(messages));
    const events = session.events({ from: readFrom, signal });
    const followed =
      encoder.progress === undefined ? events : withProgress(session, events, shownIn(fields));
    for await (const next of followed) {
      if ("message" in next) {
        // A reader counts the chunks behind its position, so those of events come first.
        if (!isOpen || seen < last) continue;
        await gate?.();
        const chunks = called(
          id,
          "progress",
          seen,
          () => encoder.progress?.(state, next) ?? [],
          isList,
        );
        if (chunks.length > 0) yield { position: seen, chunks };
        continue;
      }
      const asked = gate?.(next);
      if (asked !== undefined) await asked;
      const ran = turn;
      if (next.type === "turn.started") turn = next.data.turn;
      if (next.type === "turn.ended") turn = 0;
      // A session that fails sends no more events.
      if (next.type === "turn.started" && !untilRest && resting !== undefined) resting = watch();
      const { position: at } = next;
      const encoded = called(id, "encode", at, () => encoder.encode(state, next), hasChunks);
      state = encoded.state;
      isOpen ||= isWanted(next, turn);
      const chunks =
        at > after
          ? encoded.chunks
          : called(id, "repeats", at, () =>
              encoded.chunks.filter((one) => atOnce(encoder.repeats?.(one))),
            );
      if (chunks.length > 0) held.push({ position: at, chunks });
      if (isOpen) for (const one of held.splice(0)) yield one;
      else if (turn === 0) held.length = 0;
      seen = at;
      const isEnd = next.type === "turn.ended" && ran > 0 && endsWithTurn && isOpen;
      if (untilRest && (isEnd || seen >= restsAt)) return;
    }
    if (left.aborted || seen >= restsAt || resting === undefined) return;
    if (over.signal.aborted) await resting;
    throw closed(id);
  } finally {
    over.abort();
  }
}

/** Calls a function of an encoder. @throws TurnlogError `CALLBACK_FAILED` */
function called<Answer>(
  session: string,
  method: keyof EventEncoder<unknown, unknown>,
  at: number,
  work: () => Answer,
  fits: (answer: Answer) => boolean = () => true,
): Answer {
  const failed = (what: string, cause?: unknown): TurnlogError =>
    new TurnlogError(
      "CALLBACK_FAILED",
      `\`${method}\` of the encoder ${what} at position ${at} of session ${session}. The session continues. Mend the encoder, and stream again with \`after: ${at - 1}\`.`,
      { session, position: at, details: { option: `encoder.${method}` }, cause },
    );
  let answer;
  try {
    answer = atOnce(work());
  } catch (cause) {
    throw failed(`threw ${JSON.stringify(toStoredError(cause).message)}`, cause);
  }
  if (!fits(answer)) throw failed("returned no list of chunks");
  return answer;
}

const isList = (answer: unknown): boolean => Array.isArray(answer);

/** What programs in JavaScript return may be anything. */
const hasChunks = (encoded: { readonly chunks: unknown } | undefined): boolean =>
  isList(encoded?.chunks);

interface StreamStart {
  /** A position between two turns. */
  readonly readFrom: number;
  /** The last position when the stream began. */
  readonly last: number;
  /** The messages that were accepted before that position, and may be delivered after it. */
  readonly messages: readonly AcceptedMessage[];
  /** Whether the stream begins with the turn that has this event. */
  readonly isWanted: (event: SessionEvent, turn: number) => boolean;
  readonly endsWithTurn: boolean;
}

async function startOf(session: Session, fields: ReadFields): Promise<StreamStart> {
  const { each, from, messageId } = fields;
  if (each !== undefined)
    return { readFrom: each, last: 0, messages: [], isWanted: () => true, endsWithTurn: false };
  const view = await session.view();
  const behind = (
    before: number,
    isWanted: StreamStart["isWanted"],
    endsWithTurn = true,
  ): StreamStart => ({ ...readingFrom(view, before), isWanted, endsWithTurn });
  if (from !== undefined) {
    const isKnown = from >= 1 && from <= view.position + 1;
    if (!isKnown) throw absent(session.id, `position ${from}`, view);
    return behind(from, ({ position: at }) => at >= from, false);
  }
  if (messageId !== undefined && view.queue.some(({ id }) => id === messageId))
    return behind(view.position, ({ type, data }) => {
      // A closed session delivers nothing.
      const isGone = type === "message.withdrawn" && data.ids.includes(messageId);
      if (isGone || type === "session.closed") throw withdrawn({ session: session.id, messageId });
      return type === "message.delivered" && data.ids.includes(messageId);
    });
  const turn = await turnOf(session, view, fields);
  if (turn === undefined) return behind(view.position, (_, running) => running > 0);
  if (turn < 1 || turn > view.state.context.turn) throw absent(session.id, `turn ${turn}`, view);
  const first = view.history.find((item) => item.turn === turn && item.kind === "user");
  // The turn of another branch is not in the history.
  return behind(first?.position ?? 1, (_, running) => running === turn);
}

/** The turn to begin with; undefined if the session has none. */
async function turnOf(
  session: Session,
  { state, history }: SessionView,
  { turn, messageId }: StreamFields,
): Promise<number | undefined> {
  if (turn !== undefined) return turn;
  if (messageId !== undefined) return (await (await session.turn(messageId)).started).turn;
  const { value, context } = state;
  const isIdle =
    value === "closed" ||
    (typeof value === "object" && "idle" in value) ||
    (value === "compacting" && context.compactingFrom === "idle");
  return isIdle ? history.findLast(({ kind }) => kind === "turn-end")?.turn : context.turn;
}

/** After the last end of a turn of the active branch before a position. */
function readingFrom(
  { history, queue, position: last }: SessionView,
  before: number,
): Pick<StreamStart, "readFrom" | "last" | "messages"> {
  const index = history.findLastIndex((item) => item.kind === "turn-end" && item.position < before);
  const readFrom = (history[index]?.position ?? 0) + 1;
  const messages = [...history.slice(index + 1).filter((item) => item.kind === "user"), ...queue];
  return { readFrom, last, messages };
}

function absent(
  session: string,
  place: string,
  { position: last, state }: SessionView,
): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has no ${place}: it has ${state.context.turn} turns and ${last} events.`,
    { session, position: last },
  );
}

function closed(session: string): TurnlogError {
  return new TurnlogError(
    "RUNTIME_CLOSED",
    `The stream of session ${session} ended before its turn did, because the log was closed. Open a runtime, and repeat the call.`,
    { session },
  );
}
