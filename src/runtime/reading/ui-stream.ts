/** The stream of a session's replies for a page, past, then live. Reads the session's public interface only. */

import { withEntry, TurnlogError, type SessionEvent } from "../../events/index.ts";
import type { SessionView } from "../../state/index.ts";
import {
  encodeEvent,
  initialEncoder,
  type EncoderState,
  type SessionChunk,
  type UIOptions,
} from "../../ui/index.ts";
import {
  check,
  code,
  flag,
  many,
  name,
  optionsOf,
  position,
  thing,
} from "../../validation/index.ts";
import { firstAbort } from "../../shared/index.ts";
import type { Session } from "../api/session.ts";
import { withProgress, type Followed } from "../live/sub-agents.ts";

/** Default: the last reply of the active branch, or the turn that runs. */
type StreamPlace =
  | { readonly turn?: never; readonly messageId?: never; readonly from?: never }
  /** The turn of that number, on any branch. */
  | { readonly turn: number; readonly messageId?: never; readonly from?: never }
  /** The turn that delivers that message, even while the message still waits. */
  | { readonly messageId: string; readonly turn?: never; readonly from?: never }
  /** A position: the turn that runs there, and all later ones. */
  | { readonly from: number; readonly turn?: never; readonly messageId?: never };

/** Options of {@link uiStream}: at most one of `turn`, `messageId` and `from`. */
export type UIStreamOptions = StreamPlace &
  Pick<UIOptions, "blobUrl"> & {
    /**
     * Whether the stream ends when the turn has ended, waits for approvals or outputs, or its message is held
     * back. Default: true. With false, the stream continues with later turns until it is cancelled.
     */
    readonly untilRest?: boolean;
    /**
     * A position up to which the reader has the message, as after a lost connection, or when it answers an
     * approval: the stream sends the `start` of the message, and then only the chunks of later events.
     */
    readonly after?: number;
  };

interface StreamFields extends Pick<UIOptions, "blobUrl"> {
  readonly turn?: number;
  readonly messageId?: string;
  readonly from?: number;
  readonly untilRest?: boolean;
  readonly after?: number;
}

export interface EventChunks {
  readonly position: number;
  readonly chunks: readonly SessionChunk[];
}

const schema = optionsOf<StreamFields>(
  { turn: position, messageId: name, from: position, untilRest: flag, after: many, blobUrl: code },
  {},
).and(thing("an object with at most one of `turn`, `messageId` and `from`", hasOnePlace));

function hasOnePlace(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const places = ["turn", "messageId", "from"].map((place): unknown => Reflect.get(value, place));
  return places.filter((place) => place !== undefined).length <= 1;
}

/**
 * The chunks of a session's replies: whole messages from their `start`, past and then live, without a gap.
 * A slow reader holds back its own stream only. Cancelling the stream leaves the turn alone.
 * @throws TurnlogError `INVALID_INPUT` for the options. The stream fails with `INVALID_INPUT` (no such turn,
 * message or position), `COMMAND_REFUSED` (the message was withdrawn), `SESSION_FAILED`, `RUNTIME_CLOSED`
 * @example
 * const turn = await session.send(fromUIMessage(message), { id: message.id });
 * const stream = uiStream(session, { messageId: message.id });
 * return createUIMessageStreamResponse({ stream });
 */
export function uiStream(
  session: Session,
  options: UIStreamOptions = {},
): ReadableStream<SessionChunk> {
  const left = new AbortController();
  const events = uiStreamEvents(session, options, left.signal);
  return new ReadableStream<SessionChunk>(
    {
      async pull(controller) {
        const next = await events.next();
        if (next.done === true) controller.close();
        else for (const chunk of next.value.chunks) controller.enqueue(chunk);
      },
      async cancel() {
        left.abort();
        await events.return();
      },
    },
    // A chunk is read from the log only when the reader pulls it.
    { highWaterMark: 0 },
  );
}

/** {@link uiStream} by events, for streams that say to which position they have come. Ends when the signal aborts. */
export function uiStreamEvents(
  session: Session,
  options: UIStreamOptions,
  left: AbortSignal,
): AsyncGenerator<EventChunks, void, void> {
  check(schema, options, "uiStream", { name: "options", session: session.id });
  return streamEvents(session, { ...options }, left);
}

async function* streamEvents(
  session: Session,
  fields: StreamFields,
  left: AbortSignal,
): AsyncGenerator<EventChunks, void, void> {
  const { untilRest = true, after = 0, blobUrl } = fields;
  const options = { session: session.id, ...(blobUrl === undefined ? {} : { blobUrl }) };
  const { readFrom, last, contents, isWanted, endsWithTurn } = await startOf(session, fields);
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

  let resting = watch();
  let state: EncoderState = { ...initialEncoder, contents };
  let isOpen = false;
  /** The chunks of a turn, until it turns out to be wanted. */
  const held: EventChunks[] = [];
  try {
    const events = session.events({ from: readFrom, signal });
    for await (const next of withProgress(
      session,
      events,
      blobUrl === undefined ? {} : { blobUrl },
    )) {
      if (next.kind === "progress") {
        // A reader counts the chunks behind its position, so those of events come first.
        if (isOpen && seen >= last) yield { position: seen, chunks: [progressChunk(next)] };
        continue;
      }
      const { event } = next;
      // A session that fails sends no more events.
      if (event.type === "turn.started" && !untilRest) resting = watch();
      const { turn } = state;
      const encoded = encodeEvent(state, event, options);
      state = encoded.state;
      isOpen ||= isWanted(event, state.turn);
      const chunks =
        event.position > after
          ? encoded.chunks
          : encoded.chunks.filter(({ type }) => type === "start");
      if (chunks.length > 0) held.push({ position: event.position, chunks });
      if (isOpen) yield* held.splice(0);
      else if (state.turn === 0) held.length = 0;
      seen = event.position;
      const isEnd = event.type === "turn.ended" && turn > 0 && endsWithTurn && isOpen;
      if (untilRest && (isEnd || seen >= restsAt)) return;
    }
    if (left.aborted || seen >= restsAt) return;
    if (over.signal.aborted) await resting;
    throw closed(session.id);
  } finally {
    over.abort();
  }
}

/** Shown until the call ends, as the AI SDK shows what a tool yields. */
function progressChunk({
  callId,
  message,
}: Extract<Followed, { readonly kind: "progress" }>): SessionChunk {
  return {
    type: "tool-output-available",
    toolCallId: callId,
    output: message,
    preliminary: true,
  };
}

interface StreamStart {
  /** A position between two turns. */
  readonly readFrom: number;
  /** The last position when the stream began. */
  readonly last: number;
  /** The messages that were accepted before that position, and may be delivered after it. */
  readonly contents: EncoderState["contents"];
  /** Whether the stream begins with the turn that has this event. */
  readonly isWanted: (event: SessionEvent, turn: number) => boolean;
  readonly endsWithTurn: boolean;
}

async function startOf(session: Session, fields: StreamFields): Promise<StreamStart> {
  const view = await session.view();
  const { from } = fields;
  const wanted = fields.messageId;
  if (from !== undefined) {
    const isKnown = from >= 1 && from <= view.position + 1;
    if (!isKnown) throw absent(session.id, `position ${from}`, view);
    return {
      ...readingFrom(view, from),
      isWanted: ({ position: at }) => at >= from,
      endsWithTurn: false,
    };
  }
  if (wanted !== undefined && view.queue.some(({ id }) => id === wanted)) {
    const isWanted = (event: SessionEvent): boolean => {
      if (event.type === "message.withdrawn" && event.data.ids.includes(wanted))
        throw withdrawn(session.id, wanted);
      return event.type === "message.delivered" && event.data.ids.includes(wanted);
    };
    return { ...readingFrom(view, view.position), isWanted, endsWithTurn: true };
  }
  const turn = await turnOf(session, view, fields);
  if (turn === undefined) {
    const isWanted = (_: SessionEvent, running: number): boolean => running > 0;
    return { ...readingFrom(view, view.position), isWanted, endsWithTurn: true };
  }
  if (turn < 1 || turn > view.state.context.turn) throw absent(session.id, `turn ${turn}`, view);
  const first = view.history.find((item) => item.turn === turn && item.kind === "user");
  // The turn of another branch is not in the history.
  const start = first === undefined ? 1 : first.position;
  const isWanted = (_: SessionEvent, running: number): boolean => running === turn;
  return { ...readingFrom(view, start), isWanted, endsWithTurn: true };
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
): Pick<StreamStart, "readFrom" | "last" | "contents"> {
  const index = history.findLastIndex((item) => item.kind === "turn-end" && item.position < before);
  const readFrom = (history[index]?.position ?? 0) + 1;
  const messages = [...history.slice(index + 1).filter((item) => item.kind === "user"), ...queue];
  const contents = messages.reduce<EncoderState["contents"]>(
    (known, { id, content }) => withEntry(known, id, content),
    [],
  );
  return { readFrom, last, contents };
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

function withdrawn(session: string, messageId: string): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Message ${messageId} of session ${session} was withdrawn before it was delivered.`,
    { session },
  );
}

function closed(session: string): TurnlogError {
  return new TurnlogError(
    "RUNTIME_CLOSED",
    `The stream of session ${session} ended before its turn did, because the log was closed. Open a runtime, and repeat the call.`,
    { session },
  );
}
