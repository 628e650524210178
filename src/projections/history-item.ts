/** The types of the history. Plain JSON, so that it can be shown, stored and compared. */

import { z } from "zod";
import {
  userContentSchema,
  type BlobMeasures,
  type CallQuestion,
  type FileReference,
  type FinishReason,
  type JsonObject,
  type JsonValue,
  type ModelName,
  type ModelOutput,
  type ProviderMetadata,
  type ResponseMetadata,
  type StoredError,
  type StoredUserContent,
  type TokenUsage,
  type TurnEndReason,
  type TurnOutput,
  chunkedSchema,
  entryOf,
  type ChunkedRecord,
} from "../events/index.ts";

export interface UserItem {
  readonly kind: "user";
  readonly id: string;
  readonly content: StoredUserContent;
  /** The position of its delivery. */
  readonly position: number;
  readonly time: number;
  readonly turn: number;
}

/** One attempt at a step: the model's output and the outcomes of its calls. */
export interface StepItem {
  readonly kind: "step";
  readonly turn: number;
  readonly step: number;
  readonly attempt: number;
  readonly model: ModelName;
  readonly position: number;
  readonly time: number;
  readonly status: "streaming" | "finished" | "failed" | "interrupted";
  readonly parts: readonly HistoryPart[];
  readonly finishReason?: FinishReason;
  readonly error?: StoredError;
  /** The provider's warnings, for instance about a setting that it does not know. */
  readonly warnings?: readonly JsonValue[];
  readonly end?: StepEnd;
}

/** What the provider reported about a finished step, besides its content. */
export interface StepEnd {
  /** Epoch milliseconds. */
  readonly time: number;
  /** Without the provider's raw figures. */
  readonly usage: TokenUsage;
  readonly response: ResponseMetadata;
  readonly rawFinishReason?: string;
  readonly providerMetadata?: ProviderMetadata;
}

export interface TurnEndItem {
  readonly kind: "turn-end";
  readonly turn: number;
  readonly reason: TurnEndReason;
  readonly error?: StoredError;
  readonly output?: TurnOutput;
  /** The model ended the turn without any output in its last step. */
  readonly empty?: true;
  readonly position: number;
  readonly time: number;
}

/** A message of turnlog to the model, in the user's role. */
interface NoteItem {
  readonly kind: "note";
  readonly text: string;
  readonly turn: number;
  readonly position: number;
  readonly time: number;
}

/**
 * One entry of the conversation, discriminated by `kind`.
 * @example
 * const kinds = (items: readonly HistoryItem[]): readonly string[] => items.map(({ kind }) => kind);
 */
export type HistoryItem = UserItem | StepItem | NoteItem | TurnEndItem;

/** Text or reasoning; `open` until its end. */
export interface BlockPart {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  readonly text: string;
  readonly open: boolean;
  readonly providerMetadata?: ProviderMetadata;
  /** The reasoning was trimmed: the model is no longer shown it. */
  readonly dropped?: true;
}

/** The state of a call to our own tools, named as the `tool.*` events. */
export type CallOutcome =
  | { readonly status: "waiting" }
  | { readonly status: "awaiting-approval"; readonly reason?: string }
  | { readonly status: "approved" }
  | { readonly status: "refused"; readonly reason?: string }
  | { readonly status: "awaiting-output" }
  | { readonly status: "running"; readonly progress?: JsonValue }
  | {
      readonly status: "succeeded";
      /** The position of the event with the result. */
      readonly position: number;
      readonly output: JsonValue;
      readonly modelOutput?: ModelOutput;
    }
  | {
      readonly status: "failed";
      readonly error: StoredError;
      readonly modelOutput?: ModelOutput;
    }
  | { readonly status: "denied"; readonly reason?: string }
  | { readonly status: "skipped"; readonly reason: string }
  | { readonly status: "unknown"; readonly reason: string };

/** A person's answer about a call. */
export interface ApprovalDecision {
  readonly approved: boolean;
  readonly reason?: string;
  /** The answer also applies to all later calls of the tool. */
  readonly always?: boolean;
  /** The values of a form that the call asked for. */
  readonly content?: JsonObject;
  readonly by?: string;
  readonly position: number;
  /** Epoch milliseconds. */
  readonly answeredAt: number;
}

/** A question whether a call may run, or what a running call asks. It stays with the call. */
export interface CallApproval {
  /** The number of this question about the call, from 1. */
  readonly attempt: number;
  readonly reason?: string;
  /** The call was started before: the question is whether it runs again. */
  readonly again?: true;
  /** What the call asks before it runs again, and what it is given back then. */
  readonly question?: CallQuestion;
  readonly state?: JsonValue;
  readonly position: number;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly answer?: ApprovalDecision;
  /** The position after which no answer is possible: the call ended, or a new question was asked. */
  readonly lapsed?: number;
}

/** The request for the output of a call that a client runs. It stays with the call. */
interface CallOutputRequest {
  readonly position: number;
  /** Epoch milliseconds. */
  readonly requestedAt: number;
  /** The event that ended the wait: an answer if the call then succeeded or failed. */
  readonly settled?: { readonly position: number; readonly at: number; readonly by?: string };
}

/** A call to a tool of the agent. */
export interface CallPart {
  readonly kind: "call";
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly invalid?: boolean;
  readonly error?: StoredError;
  readonly title?: string;
  /** The tool's types are not known before run time. */
  readonly dynamic?: true;
  readonly providerMetadata?: ProviderMetadata;
  readonly outcome: CallOutcome;
  /** All questions about the call, oldest first. Absent if there was none. */
  readonly approvals?: readonly CallApproval[];
  /** Absent for a call of a tool with `execute`. */
  readonly outputRequest?: CallOutputRequest;
}

export interface ProviderCallPart {
  readonly kind: "provider-call";
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly invalid?: boolean;
  readonly dynamic?: true;
  readonly providerMetadata?: ProviderMetadata;
}

interface ProviderResultPart {
  readonly kind: "provider-result";
  readonly callId: string;
  readonly toolName: string;
  readonly output: JsonValue;
  readonly isError: boolean;
  readonly providerMetadata?: ProviderMetadata;
}

interface AnyFilePart {
  readonly mediaType: string;
  readonly blob?: BlobMeasures;
  readonly providerMetadata?: ProviderMetadata;
  readonly dropped?: true;
}

type FilePart = AnyFilePart &
  (
    | { readonly kind: "file"; readonly data: string | FileReference }
    | { readonly kind: "reasoning-file"; readonly data: string }
  );

/** A part of a kind that only its provider knows. */
interface CustomPart {
  readonly kind: "custom";
  readonly customKind: string;
  readonly providerMetadata?: ProviderMetadata;
}

/** A source that the model cites. */
interface SourcePart {
  readonly kind: "source";
  readonly source: JsonObject;
}

interface ErrorPart {
  readonly kind: "error";
  readonly error: StoredError;
}

export type HistoryPart =
  | BlockPart
  | CallPart
  | ProviderCallPart
  | ProviderResultPart
  | FilePart
  | CustomPart
  | SourcePart
  | ErrorPart;

/**
 * Everything that users, the model and tools contributed.
 * @example
 * const { items } = events.reduce(history.fold, history.initial);
 */
export interface HistoryState {
  /** Finished items, oldest first. */
  readonly items: readonly HistoryItem[];
  /** The step that runs, or whose calls run. */
  readonly open?: StepItem;
  /** A note for the next step. */
  readonly note?: NoteItem;
  /** Accepted messages that were not delivered yet, by id: a delivery names them only. */
  readonly waiting: ChunkedRecord<WaitingMessage>;
  readonly turn: number;
}

export interface WaitingMessage {
  readonly content: StoredUserContent;
}

const kinds: ReadonlySet<unknown> = new Set<HistoryItem["kind"]>([
  "user",
  "step",
  "note",
  "turn-end",
]);

// A stored snapshot is our own and has a checksum: only its outline is checked.
function hasKind(value: unknown): boolean {
  return typeof value === "object" && value !== null && "kind" in value && kinds.has(value.kind);
}

export const historySchema: z.ZodType<HistoryState> = z.lazy(() =>
  z.object({
    items: z.array(z.custom<HistoryItem>(hasKind)),
    open: z.custom<StepItem>(hasKind).exactOptional(),
    note: z.custom<NoteItem>(hasKind).exactOptional(),
    // States of earlier releases also have `delivery` here, which is in the queue.
    waiting: chunkedSchema(z.object({ content: userContentSchema })),
    turn: z.int().nonnegative(),
  }),
);

/** The waiting message with an id; undefined if it was delivered, withdrawn or never accepted. */
export function waitingMessage(
  { waiting }: Pick<HistoryState, "waiting">,
  id: string,
): WaitingMessage | undefined {
  return entryOf(waiting, id);
}
