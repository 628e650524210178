/** The UI messages of a session: the AI SDK's `UIMessage` with turnlog's metadata and data parts. Types only. */

import type { UIMessage, UIMessageChunk } from "ai";
import type {
  ReductionRung,
  SessionEvent,
  StoredUserContent,
  TokenUsage,
  TurnEndReason,
} from "../events/index.ts";

/** Metadata of a message. Positions are those of the session's log; times are epoch milliseconds. */
export interface SessionMetadata {
  /** The turn that the message belongs to. */
  readonly turn: number;
  /** The position of the delivery of a user's message, or of the beginning of a reply. */
  readonly position: number;
  readonly startedAt: number;
  /** Of a reply whose turn is over: the position of the turn's end. */
  readonly endPosition?: number;
  readonly endedAt?: number;
  readonly reason?: TurnEndReason;
  /** The model ended the turn without any text in its last step. */
  readonly empty?: true;
  /** What the page says of the error that ended the turn. */
  readonly error?: string;
  /** `provider:model` of the last step. */
  readonly model?: string;
  /** Tokens of all steps of the turn so far. */
  readonly usage?: Pick<TokenUsage, "inputTokens" | "outputTokens">;
}

/** The data parts of a reply. */
export type SessionData = {
  /** The estimated tokens of the prompt of the newest step. */
  context: { readonly promptTokens: number };
  /** A compaction during the turn. */
  compaction: {
    readonly strategy: string;
    readonly beforeTokens: number;
    readonly afterTokens: number;
  };
  /** The provider refused the conversation: the step was tried again with less of it. */
  reduction: { readonly rung: ReductionRung };
  /** Whether the turn waits for a person who allows it to spend more. */
  budget: { readonly waits: boolean };
  /** What the session is doing. Transient: it is part of the stream, never of a message. */
  notice:
    | { readonly kind: "retrying"; readonly attempt: number; readonly delayMs: number }
    /** Another model takes over; `model` of the message's metadata is the one that answered. */
    | { readonly kind: "failed-over" }
    | { readonly kind: "recovered" };
};

/**
 * A message of a session for a page.
 * @example
 * const turnOf = ({ metadata }: SessionMessage): number | undefined => metadata?.turn;
 */
export type SessionMessage = UIMessage<SessionMetadata, SessionData>;

/**
 * A chunk of a reply's stream.
 * @example
 * const chunks = await Array.fromAsync(uiMessageChunks(events, { session: "s-1" }));
 */
export type SessionChunk = UIMessageChunk<SessionMetadata, SessionData>;

/** A message that a session has accepted. */
export interface AcceptedMessage {
  readonly id: string;
  readonly content: StoredUserContent;
}

/** What a sub-agent has said so far, while its call runs. */
export interface SubAgentMessage {
  readonly callId: string;
  readonly message: SessionMessage;
}

/**
 * Maps the events of a session to the chunks of a protocol. Pure: chunks follow from the events alone, so a stream
 * that is resumed encodes them again and sends the same. The state is plain data that nobody changes.
 * @example
 * const words: EventEncoder<undefined, string> = {
 *   initial: () => undefined,
 *   encode: (state, { type, data }) => ({
 *     state,
 *     chunks: type === "part.text-delta" ? [data.text] : [],
 *   }),
 * };
 */
export interface EventEncoder<State, Chunk> {
  /**
   * The state before the first event of a stream, which begins between two turns.
   * @param messages - Those that were accepted before, and may be delivered later: a delivery only names their ids
   */
  readonly initial: (messages: readonly AcceptedMessage[]) => State;
  readonly encode: (
    state: State,
    event: SessionEvent,
  ) => { readonly state: State; readonly chunks: readonly Chunk[] };
  /**
   * The chunks of what a sub-agent has said so far. They come and go: a later stream has only the result of the
   * call. Default: none, and the sub-agents are not read.
   */
  readonly progress?: (state: State, said: SubAgentMessage) => readonly Chunk[];
  /** Whether a stream that is resumed begins with this chunk again, as with the `start` of a message. Default: none. */
  readonly repeats?: (chunk: Chunk) => boolean;
}

export type SessionPart = SessionMessage["parts"][number];

/** A failure of a turn or of a tool, as the log has it. */
export interface Failure {
  /** The words of the provider or the tool. They may name hosts, accounts or keys. */
  readonly message: string;
  readonly session: string;
  /** Of the event that records it. */
  readonly position: number;
}

/** What can be kept from a page: the model's reasoning, inputs and outputs of tools, token figures, names of models. */
export type Hidden = "reasoning" | "tool-data" | "usage" | "model";

/** What of a session a page shows, and where it finds files. */
export interface ShownOptions {
  /** The URL of a blob by its SHA-256. Default: `/api/sessions/<session>/blobs/<digest>`. */
  readonly blobUrl?: (digest: string) => string;
  /**
   * What a page says of a failure. Default: as the AI SDK, that an error occurred, with the place in the log as
   * reference: `An error occurred. Reference: s-1@42.`
   */
  readonly errorText?: (failure: Failure) => string;
  /** Default: nothing is hidden. */
  readonly hide?: readonly Hidden[];
}

export interface UIOptions extends ShownOptions {
  /** The session whose events these are: ids of approvals have its name. */
  readonly session: string;
}

/** The parts of a message so far. */
export interface OpenMessage {
  readonly id: string;
  readonly metadata?: SessionMetadata;
  /** Parts up to the beginning of the running step. */
  readonly before: readonly SessionPart[];
  /** Parts of the running step. */
  readonly current: readonly SessionPart[];
  /** Texts and reasoning without an end, by their chunks' ids: where they are in `current`. */
  readonly open: readonly OpenBlock[];
}

interface OpenBlock {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  readonly index: number;
}
