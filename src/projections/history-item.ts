/** What a history is made of. Plain JSON, so that it can be shown, stored as a snapshot and compared. */

import { z } from "zod";
import {
  userContentSchema,
  type BlobMeasures,
  type Delivery,
  type FileReference,
  type FinishReason,
  type JsonObject,
  type JsonValue,
  type ModelName,
  type ModelOutput,
  type ProviderMetadata,
  type StoredError,
  type StoredUserContent,
  type TurnEndReason,
  chunkedSchema,
  entryOf,
  type ChunkedRecord,
} from "../events/index.ts";

/** What a user said, where it was delivered. */
export interface UserItem {
  readonly kind: "user";
  readonly id: string;
  readonly content: StoredUserContent;
  /** The position of its delivery. */
  readonly position: number;
  readonly at: number;
  readonly turn: number;
}

/** One attempt at a step: what the model said, and what became of its calls. */
export interface StepItem {
  readonly kind: "step";
  readonly turn: number;
  readonly step: number;
  readonly attempt: number;
  readonly model: ModelName;
  readonly position: number;
  readonly at: number;
  readonly status: "streaming" | "finished" | "failed" | "interrupted";
  readonly parts: readonly HistoryPart[];
  readonly finishReason?: FinishReason;
  readonly error?: StoredError;
}

/** The end of a turn, and why. */
export interface TurnEndItem {
  readonly kind: "turn-end";
  readonly turn: number;
  readonly reason: TurnEndReason;
  readonly error?: StoredError;
  readonly position: number;
  readonly at: number;
}

/** Something that the model is told by us, in the place of a user. */
interface NoteItem {
  readonly kind: "note";
  readonly text: string;
  readonly turn: number;
  readonly position: number;
  readonly at: number;
}

/** One thing that happened, in the order of the log. */
export type HistoryItem = UserItem | StepItem | NoteItem | TurnEndItem;

/** Text or reasoning; `open` while its end has not come. */
export interface BlockPart {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  readonly text: string;
  readonly open: boolean;
  readonly providerMetadata?: ProviderMetadata;
  /** Reasoning that was taken out of the log: the model is not shown it any more. */
  readonly dropped?: true;
}

/** How a call of our own tools stands. The words are those of the `tool.*` events. */
export type CallOutcome =
  | { readonly status: "waiting" }
  | { readonly status: "awaiting-approval"; readonly reason?: string }
  | { readonly status: "approved" }
  | { readonly status: "refused"; readonly reason?: string }
  | { readonly status: "running"; readonly progress?: JsonValue }
  | { readonly status: "succeeded"; readonly output: JsonValue; readonly modelOutput?: ModelOutput }
  | {
      readonly status: "failed";
      readonly error: StoredError;
      readonly modelOutput?: ModelOutput;
    }
  | { readonly status: "denied"; readonly reason?: string }
  | { readonly status: "skipped"; readonly reason: string }
  | { readonly status: "unknown"; readonly reason: string };

/** What a person answered about a call. */
export interface ApprovalDecision {
  readonly approved: boolean;
  readonly reason?: string;
  /** The answer holds for every later call of the tool, too. */
  readonly always?: boolean;
  /** Who answered, where that was said. */
  readonly by?: string;
  /** The position of the answer. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly answeredAt: number;
}

/** One question whether a call may run. It stays with the call, whatever comes of it. */
export interface CallApproval {
  /** How often the call has been asked about, counted from 1. */
  readonly attempt: number;
  /** Why it is asked, where that was said. */
  readonly reason?: string;
  /** The call had been started before: the question is whether it runs again. */
  readonly again?: true;
  /** The position of the question. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly answer?: ApprovalDecision;
  /** The position from which on nobody could answer any more: the call ended, or was asked about anew. */
  readonly lapsed?: number;
}

/** A call of a tool of the agent, and what became of it. */
export interface CallPart {
  readonly kind: "call";
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly invalid?: boolean;
  readonly error?: StoredError;
  readonly title?: string;
  readonly providerMetadata?: ProviderMetadata;
  readonly outcome: CallOutcome;
  /** Each time that approval was asked for, oldest first. Absent where it never was. */
  readonly approvals?: readonly CallApproval[];
}

/** A call that the provider ran itself, and the result that came in the stream. */
export interface ProviderCallPart {
  readonly kind: "provider-call";
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly invalid?: boolean;
  readonly providerMetadata?: ProviderMetadata;
}

/** The result of a tool that ran at the provider's. */
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
  /** Of a reference to a blob. */
  readonly blob?: BlobMeasures;
  readonly providerMetadata?: ProviderMetadata;
  readonly dropped?: true;
}

/** A file that the model made. */
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

/** A source that the model names. */
interface SourcePart {
  readonly kind: "source";
  readonly source: JsonObject;
}

/** An error that the provider sent in its stream. */
interface ErrorPart {
  readonly kind: "error";
  readonly error: StoredError;
}

/** One part of what a model said in a step. */
export type HistoryPart =
  | BlockPart
  | CallPart
  | ProviderCallPart
  | ProviderResultPart
  | FilePart
  | CustomPart
  | SourcePart
  | ErrorPart;

/** Everything that was said and done, nothing left out. */
export interface HistoryState {
  /** Everything that is over, oldest first. */
  readonly items: readonly HistoryItem[];
  /** The step that is running or whose calls are. */
  readonly open?: StepItem;
  /** What the next step is told besides. */
  readonly note?: NoteItem;
  /** Content of messages that were accepted and not yet delivered, by id. */
  readonly waiting: ChunkedRecord<WaitingMessage>;
  readonly turn: number;
}

/** A message that was accepted and is not delivered yet. */
export interface WaitingMessage {
  readonly content: StoredUserContent;
  readonly delivery: Delivery;
}

const kinds: ReadonlySet<unknown> = new Set<HistoryItem["kind"]>([
  "user",
  "step",
  "note",
  "turn-end",
]);

// A snapshot is our own, checksummed and versioned: its outline is parsed, its leaves are JSON.
function hasKind(value: unknown): boolean {
  return typeof value === "object" && value !== null && "kind" in value && kinds.has(value.kind);
}

export const historySchema: z.ZodType<HistoryState> = z.object({
  items: z.array(z.custom<HistoryItem>(hasKind)),
  open: z.custom<StepItem>(hasKind).exactOptional(),
  note: z.custom<NoteItem>(hasKind).exactOptional(),
  waiting: chunkedSchema(
    z.object({ content: userContentSchema, delivery: z.enum(["steer", "follow-up"]) }),
  ),
  turn: z.int().nonnegative(),
});

/** What waits under an id; undefined for what was delivered, withdrawn or never accepted. */
export function waitingMessage(
  { waiting }: Pick<HistoryState, "waiting">,
  id: string,
): WaitingMessage | undefined {
  return entryOf(waiting, id);
}
