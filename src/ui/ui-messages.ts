/** The messages of a session as a page shows them: a pure fold. The replies of a turn are one message. */

import {
  entryOf,
  withEntry,
  type ChunkedRecord,
  type MessageAbout,
  type SessionEvent,
} from "../events/index.ts";
import { messageOf, openMessage, withChunk } from "./open-message.ts";
import { initialEncoder, type EncoderState } from "./encoder-state.ts";
import { encodeEvent, replyId } from "./reply-encoder.ts";
import { userMessage } from "./user-message.ts";
import type { OpenMessage, SessionChunk, SessionMessage, UIOptions } from "./ui-types.ts";

/** A message and the one that it follows. */
type PlacedMessage = {
  readonly message: SessionMessage;
  /** Undefined for the first message. */
  readonly parentId?: string;
};

/** All messages, and the last one of the active branch. */
type UIMessages = {
  /** Undefined before the first message. */
  readonly headId?: string;
  readonly messages: readonly PlacedMessage[];
};

/** The state of the fold. {@link readUIMessages} gives the messages. */
export interface UIMessagesState {
  readonly encoder: EncoderState;
  /** Finished messages of all branches, oldest first. A message may follow another one on each branch. */
  readonly done: Pieces<DoneMessage>;
  /** The index of the last finished message of the active branch; -1 before the first. */
  readonly head: number;
  /** The head at each boundary and after each rewind, to find it again. */
  readonly heads: Pieces<{ readonly position: number; readonly head: number }>;
  readonly reply?: OpenMessage;
  /** The active branch, by its id. */
  readonly branch: number;
  /** What pages show of accepted messages besides their content, by id. */
  readonly about: ChunkedRecord<MessageAbout>;
}

/** A list that grows by an item without a copy of all: the last piece alone is copied. */
type Pieces<Item> = readonly (readonly Item[])[];

const PIECE = 128;

function withItem<Item>(pieces: Pieces<Item>, item: Item): Pieces<Item> {
  const last = pieces.at(-1);
  return last === undefined || last.length === PIECE
    ? [...pieces, [item]]
    : pieces.with(pieces.length - 1, [...last, item]);
}

function itemAt<Item>(pieces: Pieces<Item>, index: number): Item | undefined {
  return pieces[Math.floor(index / PIECE)]?.[index % PIECE];
}

function lengthOf(pieces: Pieces<unknown>): number {
  return Math.max(0, pieces.length - 1) * PIECE + (pieces.at(-1)?.length ?? 0);
}

interface DoneMessage {
  readonly message: SessionMessage;
  /** The index of the message that it follows; -1 for the first. */
  readonly parent: number;
  /** The branch that it came on. */
  readonly branch: number;
}

/** Start from `initial`, and give `fold` each event in order. */
interface UIMessagesFold {
  readonly initial: UIMessagesState;
  readonly fold: (state: UIMessagesState, event: SessionEvent) => UIMessagesState;
}

/**
 * Makes the fold from events to the messages of a session.
 * @example
 * const { initial, fold } = uiMessages({ session: "s-1" });
 * let state = initial;
 * for await (const event of log.read("s-1")) state = fold(state, event);
 * const { headId, messages } = readUIMessages(state);
 */
export function uiMessages(options: UIOptions): UIMessagesFold {
  return {
    initial: { encoder: initialEncoder, done: [], head: -1, heads: [], branch: 1, about: [] },
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
      const there = state.heads.flat().findLast(({ position }) => position <= event.data.to);
      const { branch = event.position } = event.data;
      return atBoundary({ ...state, encoder, branch, head: there?.head ?? -1 }, event.position);
    }
    case "message.queued": {
      const { id, about } = event.data;
      const known = about === undefined ? state.about : withEntry(state.about, id, about);
      return { ...state, encoder, about: known };
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
  const { head, heads } = state;
  return { ...state, heads: withItem(heads, { position, head }) };
}

/** Messages that begin a turn come before its reply, which has begun already. */
function withDelivered(
  state: UIMessagesState,
  { position, time, data: { ids, turn, boundary } }: SessionEvent<"message.delivered">,
  options: UIOptions,
): UIMessagesState {
  if (boundary !== "turn") return state;
  return ids.reduce((before, id) => {
    // Delivered again after a rewind: the same message gets another reply.
    const known = followerOf(before, id);
    if (known !== -1) return { ...before, head: known };
    const content = entryOf(state.encoder.contents, id) ?? "";
    return withMessage(
      before,
      userMessage(
        id,
        content,
        { turn, position, startedAt: time },
        entryOf(state.about, id) ?? {},
        options,
      ),
    );
  }, state);
}

/** The index of a message right behind the head; -1 if there is none. It is newer than the head. */
function followerOf({ done, head }: UIMessagesState, id: string): number {
  for (let index = head + 1, length = lengthOf(done); index < length; index++) {
    const placed = itemAt(done, index);
    if (placed?.parent === head && placed.message.id === id) return index;
  }
  return -1;
}

/** The reply that was written joins the finished messages. */
function settled({ reply, ...state }: UIMessagesState): UIMessagesState {
  return reply === undefined ? state : withMessage(state, messageOf(reply));
}

function withMessage(state: UIMessagesState, message: SessionMessage): UIMessagesState {
  const { done, head: parent, branch } = state;
  return { ...state, done: withItem(done, { message, parent, branch }), head: lengthOf(done) };
}

/**
 * The messages of a state, with the reply that is being written.
 * @example
 * const { initial, fold } = uiMessages({ session: "s-1" });
 * const { messages } = readUIMessages(events.reduce(fold, initial));
 */
export function readUIMessages(state: UIMessagesState): UIMessages {
  const { done: pieces, head } = settled(state);
  const done = pieces.flat();
  const idAt = (index: number): string | undefined => done[index]?.message.id;
  // A message that follows another one on each branch is shown where the active branch has it.
  const shown = new Map(done.map(({ message }, index) => [message.id, index]));
  for (let index = head, id = idAt(index); id !== undefined; id = idAt(index)) {
    shown.set(id, index);
    index = done[index]?.parent ?? -1;
  }
  const messages = done.flatMap(({ message, parent }, index): readonly PlacedMessage[] => {
    if (shown.get(message.id) !== index) return [];
    const parentId = idAt(parent);
    return [parentId === undefined ? { message } : { message, parentId }];
  });
  const headId = idAt(head);
  return headId === undefined ? { messages } : { headId, messages };
}

/** The messages of the active branch, oldest first, with the reply that is being written. */
export function activeMessages(state: UIMessagesState): readonly SessionMessage[] {
  const { done, head } = settled(state);
  const messages: SessionMessage[] = [];
  for (let placed = itemAt(done, head); placed !== undefined; placed = itemAt(done, placed.parent))
    messages.push(placed.message);
  return messages.toReversed();
}

/** A message of the active branch of which there are others: an edit or a regeneration replaced one by another. */
export interface MessageVersions {
  readonly id: string;
  /** Which of `branches` has this message. */
  readonly index: number;
  /** A branch for each version, oldest first: its checkout shows the version. */
  readonly branches: readonly number[];
}

/** The messages of the active branch that have other versions, oldest first. */
export function messageVersions(state: UIMessagesState): readonly MessageVersions[] {
  const { done: pieces, head } = settled(state);
  const done = pieces.flat();
  const followers = Map.groupBy(done, ({ parent }) => parent);
  const found: MessageVersions[] = [];
  for (let placed = done[head]; placed !== undefined; placed = done[placed.parent]) {
    const all = followers.get(placed.parent) ?? [];
    const branches = all.map(({ branch }) => branch);
    if (all.length > 1) found.push({ id: placed.message.id, index: all.indexOf(placed), branches });
  }
  return found.toReversed();
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
