/** The UI messages of a session: the AI SDK's `UIMessage` with turnlog's metadata and data parts. Types only. */

import type { UIMessage, UIMessageChunk } from "ai";
import type { ReductionRung, TokenUsage, TurnEndReason } from "../events/index.ts";

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
  /** What the session is doing. Transient: it is part of the stream, never of a message. */
  notice:
    | { readonly kind: "retrying"; readonly attempt: number; readonly delayMs: number }
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
 * const chunks: SessionChunk[] = await Array.fromAsync(uiMessageChunks(events, { session: "s-1" }));
 */
export type SessionChunk = UIMessageChunk<SessionMetadata, SessionData>;

export type SessionPart = SessionMessage["parts"][number];

/** How files that are stored as blobs reach a page. */
export interface UIOptions {
  /** The session whose events these are: ids of approvals have its name. */
  readonly session: string;
  /** The URL of a blob by its SHA-256. Default: `/api/blobs/<digest>`. */
  readonly blobUrl?: (digest: string) => string;
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
