/** Encodes what the model streams: texts, reasoning, calls, files, sources. Pure; used by `reply-encoder.ts`. */

import type { Citation } from "ai";
import { type EventMap, type JsonObject, type SessionEvent, isRecord } from "../events/index.ts";
import { errorTextOf, errorWords } from "./shown.ts";
import { fileUrl } from "./user-message.ts";
import {
  quiet,
  withSaid,
  type Encoded,
  type EncoderState,
  type StepProgress,
} from "./encoder-state.ts";
import type { SessionChunk, UIOptions } from "./ui-types.ts";

/** The chunks of a part; none for events that a page does not show. */
export function partChunks(before: EncoderState, event: SessionEvent, options: UIOptions): Encoded {
  const state = withSaid(before, event);
  switch (event.type) {
    case "part.text-start":
    case "part.reasoning-start": {
      const kind = event.type === "part.text-start" ? "text" : "reasoning";
      const { id } = event.data;
      const blocks = [...state.step.blocks, { kind, id } as const];
      return within(state, { blocks }, { type: `${kind}-start`, id, ...metadata(event.data) });
    }
    case "part.text-delta":
    case "part.reasoning-delta": {
      const kind = event.type === "part.text-delta" ? "text" : "reasoning";
      const { id, text } = event.data;
      if (!isOpen(state, kind, id)) return quiet(state);
      return one(state, { type: `${kind}-delta`, id, delta: text, ...metadata(event.data) });
    }
    case "part.text-end":
    case "part.reasoning-end": {
      const kind = event.type === "part.text-end" ? "text" : "reasoning";
      const { id } = event.data;
      if (!isOpen(state, kind, id)) return quiet(state);
      const blocks = state.step.blocks.filter((block) => block.kind !== kind || block.id !== id);
      const end =
        event.type === "part.text-end"
          ? ({ type: "text-end", id, ...citations(event.data) } as const)
          : ({ type: "reasoning-end", id } as const);
      return within(state, { blocks }, { ...end, ...metadata(event.data) });
    }
    case "part.tool-input-start": {
      const { id, toolName } = event.data;
      if (state.step.calls.includes(id)) return quiet(state);
      const inputs = [...state.step.inputs, { callId: id, toolName }];
      return within(
        state,
        { inputs },
        {
          type: "tool-input-start",
          toolCallId: id,
          toolName,
          ...present(event.data, ["inputEncoding", "providerExecuted", "dynamic", "title"]),
          ...metadata(event.data),
        },
      );
    }
    case "part.tool-input-delta": {
      const { id, delta } = event.data;
      if (!state.step.inputs.some(({ callId }) => callId === id)) return quiet(state);
      return one(state, { type: "tool-input-delta", toolCallId: id, inputTextDelta: delta });
    }
    case "part.tool-call":
      return call(state, event, options);
    case "part.tool-result": {
      const { toolCallId, output } = event.data;
      return result(state, toolCallId, {
        type: "tool-output-available",
        toolCallId,
        output,
        ...present(event.data, ["providerExecuted", "dynamic", "preliminary"]),
        ...metadata(event.data),
      });
    }
    case "part.tool-error": {
      const { toolCallId, error } = event.data;
      return result(state, toolCallId, {
        type: "tool-output-error",
        toolCallId,
        errorText: errorTextOf(errorWords(error), event.position, options),
        ...present(event.data, ["providerExecuted", "dynamic"]),
        ...metadata(event.data),
      });
    }
    case "part.tool-approval-request": {
      const { approvalId, toolCallId } = event.data;
      if (!state.step.calls.includes(toolCallId)) return quiet(state);
      return one(state, {
        type: "tool-approval-request",
        approvalId,
        toolCallId,
        ...present(event.data, ["reason", "isAutomatic", "signature"]),
      });
    }
    case "part.file":
    case "part.reasoning-file": {
      const { data, mediaType } = event.data;
      const type = event.type === "part.file" ? "file" : "reasoning-file";
      const url = typeof data === "string" ? fileUrl(data, mediaType, options) : "";
      return one(state, { type, url, mediaType, ...metadata(event.data) });
    }
    case "part.source":
      return source(state, event.data);
    case "part.custom": {
      const [provider = "", ...kind] = event.data.kind.split(".");
      const name = `${provider}.${kind.join(".")}` as const;
      return one(state, { type: "custom", kind: name, ...metadata(event.data) });
    }
    default:
      return quiet(state);
  }
}

function one(state: EncoderState, chunk: SessionChunk): Encoded {
  return { state, chunks: [chunk] };
}

function within(state: EncoderState, change: Partial<StepProgress>, chunk: SessionChunk): Encoded {
  return { state: { ...state, step: { ...state.step, ...change } }, chunks: [chunk] };
}

function isOpen({ step }: EncoderState, kind: "text" | "reasoning", id: string): boolean {
  return step.blocks.some((block) => block.kind === kind && block.id === id);
}

function call(
  state: EncoderState,
  { position, data }: SessionEvent<"part.tool-call">,
  options: UIOptions,
): Encoded {
  const { toolCallId, toolName, input = null, invalid, error, providerExecuted } = data;
  const { calls, inputs } = state.step;
  // Earlier releases recorded a second call of an id in a reply: the session has the first.
  if (calls.includes(toolCallId)) return quiet(state);
  const about = {
    toolCallId,
    toolName,
    input,
    ...present(data, ["providerExecuted", "dynamic", "title"]),
    ...metadata(data),
  };
  const chunk: SessionChunk =
    invalid === true
      ? {
          type: "tool-input-error",
          ...about,
          errorText: errorTextOf(errorWords(error?.message ?? null), position, options),
        }
      : { type: "tool-input-available", ...about };
  const encoded = within(
    state,
    {
      calls: [...calls, toolCallId],
      inputs: inputs.filter(({ callId }) => callId !== toolCallId),
    },
    chunk,
  );
  if (providerExecuted !== true) return encoded;
  return { ...encoded, state: { ...encoded.state, pending: [...state.pending, toolCallId] } };
}

/** A result of the provider's own tool: of this step, or of a call that waited for it. */
function result(state: EncoderState, callId: string, chunk: SessionChunk): Encoded {
  const { pending, step } = state;
  if (!pending.includes(callId) && !step.calls.includes(callId)) return quiet(state);
  const isFinal = chunk.type !== "tool-output-available" || chunk.preliminary !== true;
  const left = isFinal ? pending.filter((one) => one !== callId) : pending;
  return one({ ...state, pending: left }, chunk);
}

function source(state: EncoderState, data: JsonObject): Encoded {
  const text = (name: string): string | undefined => {
    const value = data[name];
    return typeof value === "string" ? value : undefined;
  };
  const [sourceId = "", title] = [text("id"), text("title")];
  const about = { sourceId, ...metadata(data) };
  const [url, mediaType, filename] = [text("url"), text("mediaType"), text("filename")];
  if (data["sourceType"] === "url" && url !== undefined) {
    const named = title === undefined ? {} : { title };
    return one(state, { type: "source-url", ...about, url, ...named });
  }
  if (data["sourceType"] === "document" && mediaType !== undefined) {
    const named = filename === undefined ? {} : { filename };
    const chunk = {
      type: "source-document",
      ...about,
      mediaType,
      title: title ?? "",
      ...named,
    } as const;
    return one(state, chunk);
  }
  return quiet(state);
}

type ProviderMetadata = NonNullable<
  Extract<SessionChunk, { readonly type: "text-start" }>["providerMetadata"]
>;

/** Checked when it was recorded. */
function metadata(data: object): { readonly providerMetadata?: ProviderMetadata } {
  if (!("providerMetadata" in data) || data.providerMetadata === undefined) return {};
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { providerMetadata: data.providerMetadata as ProviderMetadata };
}

/** Without those of another form, which providers may have sent: the AI SDK of a page would end the stream there. */
function citations(data: EventMap["part.text-end"]): { readonly citations?: Citation[] } {
  const given: readonly unknown[] = Array.isArray(data.citations) ? data.citations : [];
  const known = given.filter(isCitation);
  return known.length === 0 ? {} : { citations: known };
}

function isCitation(value: unknown): value is Citation {
  const { source, startIndex = 0, endIndex = 0, citedText = "" } = fields(value);
  const about = fields(source);
  const { type, sourceType, id, url, mediaType, title, filename = "" } = about;
  const { title: name = "", providerMetadata = {} } = about;
  const isSource =
    sourceType === "url"
      ? areTexts(url, name)
      : sourceType === "document" && areTexts(mediaType, title, filename);
  return (
    type === "source" &&
    isSource &&
    areTexts(id, citedText) &&
    [startIndex, endIndex].every((at) => Number.isSafeInteger(at) && Number(at) >= 0) &&
    [providerMetadata, ...Object.values(fields(providerMetadata))].every(isRecord)
  );
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? { ...value } : {};
}

/** The named fields that data has. */
function present<Data extends object, Key extends keyof Data>(
  data: Data,
  keys: readonly Key[],
): { readonly [Name in Key]?: Exclude<Data[Name], undefined> };
function present(data: object, keys: readonly PropertyKey[]): object {
  return Object.fromEntries(
    Object.entries(data).filter(([key, value]) => keys.includes(key) && value !== undefined),
  );
}
