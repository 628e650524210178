/** The messages of a session as a page shows them: a pure fold. The replies of a turn are one message. */

import { entryOf, type SessionEvent } from "../events/index.ts";
import { messageOf, openMessage, withChunk } from "./open-message.ts";
import { initialEncoder, type EncoderState } from "./encoder-state.ts";
import { encodeEvent, replyId } from "./reply-encoder.ts";
import { userMessage } from "./user-message.ts";
import type { OpenMessage, SessionChunk, SessionMessage, UIOptions } from "./ui-types.ts";

/**
 * A message and the one that it follows.
 * @example
 * const answersOf = (id: string, all: readonly PlacedMessage[]): readonly PlacedMessage[] =>
 *   all.filter(({ parentId }) => parentId === id);
 */
export interface PlacedMessage {
  readonly message: SessionMessage;
  /** Undefined for the first message. */
  readonly parentId?: string;
}

/**
 * All messages, and the last one of the active branch.
 * @example
 * const { headId, messages }: UIMessages = readUIMessages(state);
 */
export interface UIMessages {
  /** Undefined before the first message. */
  readonly headId?: string;
  readonly messages: readonly PlacedMessage[];
}

/**
 * The state of the fold. {@link readUIMessages} gives the messages.
 * @example
 * let state: UIMessagesState = uiMessages({ session: "s-1" }).initial;
 */
export interface UIMessagesState {
  readonly encoder: EncoderState;
  /** Finished messages of all branches, oldest first. */
  readonly done: readonly PlacedMessage[];
  /** The last finished message of the active branch. */
  readonly headId?: string;
  /** The head at each boundary and after each rewind, to find it again. */
  readonly heads: readonly { readonly position: number; readonly headId?: string }[];
  readonly reply?: OpenMessage;
}

/**
 * The fold that {@link uiMessages} makes: start from `initial`, and give `fold` each event in order.
 * @example
 * const { initial, fold }: UIMessagesFold = uiMessages({ session: "s-1" });
 * const { messages } = readUIMessages(events.reduce(fold, initial));
 */
export interface UIMessagesFold {
  readonly initial: UIMessagesState;
  readonly fold: (state: UIMessagesState, event: SessionEvent) => UIMessagesState;
}

/**
 * The fold to the messages of a session.
 * @example
 * const { initial, fold } = uiMessages({ session: "s-1" });
 * let state = initial;
 * for await (const event of log.read("s-1")) state = fold(state, event);
 * const { headId, messages } = readUIMessages(state);
 */
export function uiMessages(options: UIOptions): UIMessagesFold {
  return {
    initial: { encoder: initialEncoder, done: [], heads: [] },
    fold: (state, event) => foldEvent(state, event, options),
  };
}

function foldEvent(
  state: UIMessagesState,
  event: SessionEvent,
  options: UIOptions,
): UIMessagesState {
  const { state: encoder, chunks } = encodeEvent(state.encoder, event, options);
  switch (event.type) {
    case "turn.started": {
      const reply = chunks.reduce(withChunk, openMessage(replyId(event.data.turn)));
      return { ...settled(state), encoder, reply };
    }
    case "turn.ended": {
      const { reply } = state;
      const ended =
        reply === undefined ? state : { ...state, reply: chunks.reduce(withChunk, reply) };
      return atBoundary({ ...settled(ended), encoder }, event.position);
    }
    case "session.rewound": {
      const { headId } = state.heads.findLast(({ position }) => position <= event.data.to) ?? {};
      const { headId: _left, ...rest } = state;
      const back = headId === undefined ? rest : { ...rest, headId };
      return atBoundary({ ...back, encoder }, event.position);
    }
    case "message.delivered":
      return withReply(withDelivered(state, event, options), chunks, encoder);
    default:
      return withReply(state, chunks, encoder);
  }
}

function withReply(
  state: UIMessagesState,
  chunks: readonly SessionChunk[],
  encoder: EncoderState,
): UIMessagesState {
  const { reply } = state;
  if (reply === undefined || chunks.length === 0)
    return state.encoder === encoder ? state : { ...state, encoder };
  return { ...state, encoder, reply: chunks.reduce(withChunk, reply) };
}

function atBoundary(state: UIMessagesState, position: number): UIMessagesState {
  const { headId, heads } = state;
  const here = headId === undefined ? { position } : { position, headId };
  return { ...state, heads: [...heads, here] };
}

/** Messages that begin a turn come before its reply, which has begun already. */
function withDelivered(
  state: UIMessagesState,
  { position, time, data: { ids, turn, boundary } }: SessionEvent<"message.delivered">,
  options: UIOptions,
): UIMessagesState {
  if (boundary !== "turn") return state;
  return ids.reduce((before, id) => {
    // Delivered once more after a rewind: the same message gets another reply.
    if (before.done.some(({ message }) => message.id === id)) return { ...before, headId: id };
    const content = entryOf(state.encoder.contents, id) ?? "";
    return withMessage(
      before,
      userMessage(id, content, { turn, position, startedAt: time }, options),
    );
  }, state);
}

/** The reply that was written joins the finished messages. */
function settled({ reply, ...state }: UIMessagesState): UIMessagesState {
  return reply === undefined ? state : withMessage(state, messageOf(reply));
}

function withMessage(state: UIMessagesState, message: SessionMessage): UIMessagesState {
  const { done, headId: parentId } = state;
  const placed = parentId === undefined ? { message } : { message, parentId };
  return { ...state, done: [...done, placed], headId: message.id };
}

/**
 * The messages of a state, with the reply that is being written.
 * @example
 * const { initial, fold } = uiMessages({ session: "s-1" });
 * const { messages } = readUIMessages(events.reduce(fold, initial));
 */
export function readUIMessages(state: UIMessagesState): UIMessages {
  const { headId, done: messages } = settled(state);
  return headId === undefined ? { messages } : { headId, messages };
}

/**
 * The chunks of a session's events, for the stream of a page. `from` is the state of the encoder before
 * the first event; by default that of an empty session.
 * @example
 * for await (const chunk of uiMessageChunks(session.events(), { session: session.id })) send(chunk);
 */
export async function* uiMessageChunks(
  events: AsyncIterable<SessionEvent> | Iterable<SessionEvent>,
  options: UIOptions & { readonly from?: EncoderState },
): AsyncGenerator<SessionChunk, void, void> {
  let state = options.from ?? initialEncoder;
  for await (const event of events) {
    const encoded = encodeEvent(state, event, options);
    state = encoded.state;
    yield* encoded.chunks;
  }
}
