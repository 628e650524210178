/** The parts of calls in a message that is being written, by the rules of the AI SDK's reader. Pure. */

import { partialJson } from "./partial-json.ts";
import type { OpenMessage, SessionChunk, SessionPart } from "./ui-types.ts";

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
export function withInput(part: SessionPart): SessionPart {
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
export function withCall(message: OpenMessage, about: CallAbout, state: object): OpenMessage {
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
export function withOutcome(
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
export function changedCall(
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

export function isCallOf(callId: string): (part: SessionPart) => boolean {
  return (part) => isCall(part) && part.toolCallId === callId;
}

export function isAbout(approvalId: string): (part: SessionPart) => boolean {
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
