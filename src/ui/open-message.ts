/**
 * The message of a reply while its chunks come, by the rules of the AI SDK's `readUIMessageStream` (law 13
 * compares both). Pure, and cheap for each delta: only the parts of the running step are copied.
 */

import { changedCall, isAbout, isCallOf, withCall, withInput, withOutcome } from "./call-parts.ts";
import type {
  OpenMessage,
  SessionChunk,
  SessionMessage,
  SessionMetadata,
  SessionPart,
} from "./ui-types.ts";

type TextPart = Extract<SessionPart, { readonly type: "text" | "reasoning" }>;
type TextChunk = Extract<
  SessionChunk,
  {
    readonly type:
      | "text-start"
      | "text-delta"
      | "text-end"
      | "reasoning-start"
      | "reasoning-delta"
      | "reasoning-end";
  }
>;

export function openMessage(id: string): OpenMessage {
  return { id, before: [], current: [], open: [] };
}

/** The message as a page has it now. */
export function messageOf({ id, metadata, before, current }: OpenMessage): SessionMessage {
  const parts = [...before, ...current].map(withInput);
  return { id, role: "assistant", ...(metadata === undefined ? {} : { metadata }), parts };
}

/** The message after a chunk. Ids of chunks name parts that the encoder has begun. */
export function withChunk(message: OpenMessage, chunk: SessionChunk): OpenMessage {
  switch (chunk.type) {
    case "start":
    case "finish":
    case "message-metadata":
      return withMetadata(message, chunk.messageMetadata);
    case "start-step": {
      const { before, current } = message;
      return {
        ...message,
        before: [...before, ...current, { type: "step-start" }],
        current: [],
        open: [],
      };
    }
    case "reset-step":
      return { ...message, current: [], open: [] };
    case "text-start":
    case "reasoning-start":
    case "text-delta":
    case "reasoning-delta":
    case "text-end":
    case "reasoning-end":
      return withText(message, chunk);
    case "tool-input-start": {
      const { type: _, inputEncoding, ...about } = chunk;
      const encoding = inputEncoding === undefined ? {} : { inputEncoding };
      return withCall(message, about, { state: "input-streaming", ...encoding });
    }
    case "tool-input-delta": {
      const { toolCallId, inputTextDelta } = chunk;
      return changedCall(message, isCallOf(toolCallId), (part) => ({
        ...part,
        rawInput: (part.rawInput ?? "") + inputTextDelta,
      }));
    }
    case "tool-input-available": {
      const { type: _, ...about } = chunk;
      return withCall(message, about, { state: "input-available" });
    }
    case "tool-input-error": {
      const { type: _, title: _title, ...about } = chunk;
      const known = message.current.find(isCallOf(about.toolCallId));
      const dynamic = known === undefined ? about.dynamic === true : known.type === "dynamic-tool";
      return withCall(message, { ...about, dynamic }, { state: "output-error" });
    }
    case "tool-approval-request": {
      const { approvalId: id, toolCallId, reason, isAutomatic, signature } = chunk;
      const { approvalDescriptor: descriptor } = chunk;
      const approval = {
        id,
        ...(descriptor === undefined ? {} : { descriptor }),
        ...(reason === undefined ? {} : { requestReason: reason }),
        ...(isAutomatic === true ? { isAutomatic } : {}),
        ...(signature === undefined ? {} : { signature }),
      };
      return changedCall(message, isCallOf(toolCallId), (part) => ({
        ...part,
        state: "approval-requested",
        approval,
      }));
    }
    case "tool-approval-response": {
      const { approvalId: id, approved, reason } = chunk;
      const answer = { id, approved, ...(reason === undefined ? {} : { reason }) };
      return changedCall(message, isAbout(id), (part) => ({
        ...part,
        state: "approval-responded",
        approval: { ...part.approval, ...answer },
      }));
    }
    case "tool-output-denied":
      return changedCall(message, isCallOf(chunk.toolCallId), (part) => ({
        ...part,
        state: "output-denied",
      }));
    case "tool-output-available": {
      const { output, preliminary } = chunk;
      const outcome = preliminary === undefined ? { output } : { output, preliminary };
      return withOutcome(message, chunk, { state: "output-available", ...outcome });
    }
    case "tool-output-error": {
      const { errorText } = chunk;
      return withOutcome(message, chunk, { state: "output-error", errorText });
    }
    case "file":
    case "reasoning-file":
    case "source-url":
    case "source-document":
    case "custom":
    case "steering-message":
      return { ...message, current: [...message.current, chunk] };
    case "data-context":
    case "data-compaction":
    case "data-reduction":
    case "data-budget":
      return withData(message, chunk);
    // Transient, or of no part.
    case "data-notice":
    case "finish-step":
    case "error":
    case "abort":
      return message;
  }
}

function withMetadata(message: OpenMessage, given: SessionMetadata | undefined): OpenMessage {
  return given === undefined
    ? message
    : { ...message, metadata: { ...message.metadata, ...given } };
}

function withText(message: OpenMessage, chunk: TextChunk): OpenMessage {
  const { id, providerMetadata } = chunk;
  const own = providerMetadata === undefined ? {} : { providerMetadata };
  const { current, open } = message;
  const kind = isText(chunk) ? "text" : "reasoning";
  switch (chunk.type) {
    case "text-start":
    case "reasoning-start": {
      const about = { text: "", state: "streaming", ...own } as const;
      const part: SessionPart =
        kind === "text" ? { type: "text", ...about } : { type: "reasoning", id, ...about };
      const others = open.filter((block) => block.kind !== kind || block.id !== id);
      return {
        ...message,
        current: [...current, part],
        open: [...others, { kind, id, index: current.length }],
      };
    }
    case "text-delta":
    case "reasoning-delta": {
      const { delta } = chunk;
      return withBlock(message, kind, id, (part) => ({ ...part, text: part.text + delta, ...own }));
    }
    case "text-end":
    case "reasoning-end": {
      const citations =
        chunk.type === "text-end" && chunk.citations !== undefined
          ? { citations: chunk.citations }
          : {};
      const ended = withBlock(message, kind, id, (part) => ({
        ...part,
        state: "done",
        ...citations,
        ...own,
      }));
      return { ...ended, open: open.filter((block) => block.kind !== kind || block.id !== id) };
    }
  }
}

function isText({ type }: TextChunk): boolean {
  return type === "text-start" || type === "text-delta" || type === "text-end";
}

function withBlock(
  message: OpenMessage,
  kind: "text" | "reasoning",
  id: string,
  change: (part: TextPart) => TextPart,
): OpenMessage {
  const block = message.open.find((one) => one.kind === kind && one.id === id);
  const part = block === undefined ? undefined : message.current[block.index];
  if (block === undefined || (part?.type !== "text" && part?.type !== "reasoning")) return message;
  return { ...message, current: message.current.with(block.index, change(part)) };
}

/** Adds a data part, or replaces the data of the one with its id. */
function withData(
  message: OpenMessage,
  chunk: Extract<
    SessionChunk,
    { readonly type: "data-context" | "data-compaction" | "data-reduction" | "data-budget" }
  >,
): OpenMessage {
  const { before, current } = message;
  const isSame = (part: SessionPart): boolean =>
    part.type === chunk.type && "id" in part && part.id === chunk.id;
  const index = before.findIndex(isSame);
  if (index !== -1) return { ...message, before: before.with(index, chunk) };
  const inStep = current.findIndex(isSame);
  if (inStep !== -1) return { ...message, current: current.with(inStep, chunk) };
  return { ...message, current: [...current, chunk] };
}
