/**
 * The message of a reply while its chunks come, by the rules of the AI SDK's `readUIMessageStream` (law 13
 * compares both). Pure, and cheap for each delta: only the parts of the running step are copied.
 */

import type {
  OpenMessage,
  SessionChunk,
  SessionMessage,
  SessionMetadata,
  SessionPart,
} from "./ui-types.ts";
import { partialJson } from "./partial-json.ts";

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

// The parts of calls in a message that is being written, by the rules of the AI SDK's reader. Pure.

interface CallPart {
  readonly type: string;
  readonly toolCallId: string;
  readonly toolName?: string;
  readonly state: string;
  readonly input?: unknown;
  /** Of an input that streams: the text so far. */
  readonly rawInput?: string;
  readonly approval?: object;
}

/** The input of a call that streams is read when the message is, not at every delta. */
function withInput(part: SessionPart): SessionPart {
  if (!isCall(part) || part.state !== "input-streaming" || part.rawInput === undefined) return part;
  const isText = "inputEncoding" in part && part.inputEncoding === "text";
  const input = isText ? part.rawInput : partialJson(part.rawInput);
  return asPart({ ...part, input });
}

interface CallAbout {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic?: boolean;
  readonly providerMetadata?: object;
}

/** Begins the part of a call, or replaces the state of the one that the running step has. */
function withCall(message: OpenMessage, about: CallAbout, state: object): OpenMessage {
  const { toolName, dynamic = false, providerMetadata, ...fields } = about;
  const names = dynamic ? { type: "dynamic-tool", toolName } : { type: `tool-${toolName}` };
  // The metadata of a call that is refused as it comes counts as that of its result.
  const isResult = "errorText" in fields;
  const call =
    providerMetadata === undefined
      ? {}
      : { [isResult ? "resultProviderMetadata" : "callProviderMetadata"]: providerMetadata };
  const { current } = message;
  const index = current.findIndex(
    (part) =>
      isCall(part) &&
      part.toolCallId === about.toolCallId &&
      (part.type === "dynamic-tool") === dynamic,
  );
  const known = current[index];
  const earlier = known === undefined ? {} : withoutState(known);
  const part = asPart({ ...earlier, ...names, ...fields, ...state, ...call });
  return {
    ...message,
    current: known === undefined ? [...current, part] : current.with(index, part),
  };
}

/** The outcome of a call of the running step, or else of the newest step that has the call. */
function withOutcome(
  message: OpenMessage,
  chunk: Extract<SessionChunk, { readonly type: "tool-output-available" | "tool-output-error" }>,
  outcome: object,
): OpenMessage {
  const { toolCallId, providerExecuted, providerMetadata } = chunk;
  return changedCall(message, isCallOf(toolCallId), (part) => {
    // The SDK keeps the written input of a failed call of a static tool.
    const keeps = chunk.type === "tool-output-error" && part.type !== "dynamic-tool";
    return {
      ...withoutState(part),
      ...("input" in part ? { input: part.input } : {}),
      ...(keeps && part.rawInput !== undefined ? { rawInput: part.rawInput } : {}),
      ...outcome,
      ...(providerExecuted === undefined ? {} : { providerExecuted }),
      ...(providerMetadata === undefined ? {} : { resultProviderMetadata: providerMetadata }),
    };
  });
}

/** The fields of a call that a new state keeps: its names, its approval and its metadata. */
function withoutState<Part extends object>(part: Part): Part {
  const state = ["input", "output", "errorText", "preliminary", "rawInput", "inputEncoding"];
  // Only optional fields are left out.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(Object.entries(part).filter(([name]) => !state.includes(name))) as Part;
}

/** Changes the newest call that fits: of the running step first. */
function changedCall(
  message: OpenMessage,
  fits: (part: SessionPart) => boolean,
  change: (part: CallPart) => CallPart,
): OpenMessage {
  for (const place of ["current", "before"] as const) {
    const parts = message[place];
    const index = place === "current" ? parts.findIndex(fits) : parts.findLastIndex(fits);
    const part = parts[index];
    if (part === undefined || !isCall(part)) continue;
    return { ...message, [place]: parts.with(index, asPart(change(part))) };
  }
  return message;
}

function isCall(part: SessionPart): part is SessionPart & CallPart {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

function isCallOf(callId: string): (part: SessionPart) => boolean {
  return (part) => isCall(part) && part.toolCallId === callId;
}

function isAbout(approvalId: string): (part: SessionPart) => boolean {
  return (part) =>
    isCall(part) &&
    part.approval !== undefined &&
    "id" in part.approval &&
    part.approval.id === approvalId;
}

/** The states of a call are a union of the SDK, which spreads cannot follow. */
function asPart(part: object): SessionPart {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return part as SessionPart;
}
