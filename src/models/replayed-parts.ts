/** Restores the stream parts of a provider from recorded events. Pure. */

import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { SessionEvent, TokenUsage } from "../events/index.ts";

/** The tool inputs as the model wrote them, by call id: the recorded input may be changed by a schema. */
export function writtenInputs(parts: readonly SessionEvent[]): ReadonlyMap<string, string> {
  const inputs = new Map<string, string>();
  const texts = new Set<string>();
  for (const { type, data } of parts) {
    // Text input is streamed plain, but the call has it as JSON.
    if (type === "part.tool-input-start" && data.inputEncoding === "text") texts.add(data.id);
    if (type !== "part.tool-input-delta" || texts.has(data.id)) continue;
    inputs.set(data.id, (inputs.get(data.id) ?? "") + data.delta);
  }
  return inputs;
}

/** The part of a provider's stream; undefined for parts that the AI SDK or the runtime adds. */
export function replayedPart(
  event: SessionEvent,
  inputs: ReadonlyMap<string, string>,
): LanguageModelV4StreamPart | undefined {
  switch (event.type) {
    case "part.start-step":
      return stated({ type: "stream-start", warnings: event.data.warnings });
    case "part.text-end": {
      const { id, citations, providerMetadata } = event.data;
      return stated({ type: "text-end", id, citations, providerMetadata });
    }
    case "part.text-start":
    case "part.reasoning-start":
    case "part.reasoning-end":
    case "part.tool-input-end": {
      const { id, providerMetadata } = event.data;
      return stated({ type: typeOf(event), id, providerMetadata });
    }
    case "part.text-delta":
    case "part.reasoning-delta": {
      const { id, text, providerMetadata } = event.data;
      return stated({ type: typeOf(event), id, delta: text, providerMetadata });
    }
    case "part.tool-input-start": {
      const { toolMetadata: _, dynamic, ...start } = event.data;
      // The SDK adds `dynamic: false` itself.
      return stated({
        type: "tool-input-start",
        ...start,
        dynamic: dynamic === true ? dynamic : undefined,
      });
    }
    case "part.tool-input-delta": {
      const { id, delta, providerMetadata } = event.data;
      return stated({ type: "tool-input-delta", id, delta, providerMetadata });
    }
    case "part.tool-call": {
      const { toolCallId, toolName, providerExecuted, dynamic, providerMetadata } = event.data;
      const input = inputs.get(toolCallId) ?? inputText(event.data);
      // The SDK marks an invalid call as dynamic itself.
      const own = event.data.invalid === true ? undefined : dynamic;
      const call = { toolCallId, toolName, input, providerExecuted, dynamic: own };
      return stated({ type: "tool-call", ...call, providerMetadata });
    }
    case "part.tool-result":
    case "part.tool-error": {
      const { toolCallId, toolName, providerExecuted, dynamic, providerMetadata } = event.data;
      // The SDK answers invalid calls itself.
      if (providerExecuted !== true) return undefined;
      const result =
        event.type === "part.tool-result"
          ? { result: event.data.output, preliminary: event.data.preliminary }
          : { result: event.data.error, isError: true };
      return stated({
        type: "tool-result",
        toolCallId,
        toolName,
        ...result,
        dynamic,
        providerMetadata,
      });
    }
    case "part.file":
    case "part.reasoning-file": {
      const { data, mediaType, providerMetadata } = event.data;
      return stated({
        type: typeOf(event),
        mediaType,
        data: { type: "data", data },
        providerMetadata,
      });
    }
    case "part.tool-approval-request": {
      const { approvalId, toolCallId } = event.data;
      return stated({ type: "tool-approval-request", approvalId, toolCallId });
    }
    case "part.source":
      return stated({ type: "source", ...event.data });
    case "part.custom":
      return stated({ type: "custom", ...event.data });
    case "part.raw":
      return stated({ type: "raw", ...event.data });
    default:
      return undefined;
  }
}

function typeOf({ type }: SessionEvent): string {
  return type.slice("part.".length);
}

/** The input of an invalid call may be the raw text of the model instead of JSON. */
function inputText({ input, invalid }: SessionEvent<"part.tool-call">["data"]): string {
  return invalid === true && typeof input === "string" ? input : JSON.stringify(input ?? {});
}

function stated(part: Readonly<Record<string, unknown>>): LanguageModelV4StreamPart {
  const fields = Object.entries(part).filter(([, value]) => value !== undefined);
  // The part had this type when it was recorded, and its event was parsed since.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(fields) as unknown as LanguageModelV4StreamPart;
}

/** The response metadata of a step; undefined if the provider sent none. */
export function replayedResponse({
  data: { response },
}: SessionEvent<"step.finished">): LanguageModelV4StreamPart | undefined {
  const { id, modelId, timestamp } = response;
  if (id === undefined && modelId === undefined && timestamp === undefined) return undefined;
  const time = timestamp === undefined ? undefined : new Date(timestamp);
  return stated({ type: "response-metadata", id, modelId, timestamp: time });
}

/** The finish part of a stream; undefined for a stream that broke off. */
export function replayedFinish({
  type,
  data,
}: NonNullable<RecordedCall["end"]>): LanguageModelV4StreamPart | undefined {
  // A stream with an error may still have ended with usage, although its step failed.
  const isFailure = type === "step.failed" || type === "step.retrying";
  if (isFailure && data.usage !== undefined && isReported(data.usage)) {
    const finishReason = { unified: "error", raw: undefined };
    return stated({ type: "finish", finishReason, usage: replayedUsage(data.usage) });
  }
  if (type !== "step.finished") return undefined;
  const { finishReason: unified, rawFinishReason: raw, providerMetadata } = data;
  return stated({
    type: "finish",
    finishReason: { unified, raw },
    usage: replayedUsage(data.usage),
    providerMetadata,
  });
}

/** Whether the provider sent figures. */
export function isReported({ basis, reported }: TokenUsage): boolean {
  return basis === "measured" || reported !== undefined;
}

/** The usage as the provider sent it, without estimated figures. */
export function replayedUsage(usage: TokenUsage): LanguageModelV4Usage {
  const { raw } = usage;
  const isMeasured = usage.basis === "measured";
  const given = usage.reported ?? {
    ...usage,
    inputTokens: isMeasured ? usage.inputTokens : undefined,
    noCacheTokens: usage.uncachedInputTokens,
    outputTokens: isMeasured ? usage.outputTokens : undefined,
  };
  return {
    inputTokens: {
      total: given.inputTokens,
      noCache: given.noCacheTokens,
      cacheRead: given.cacheReadTokens,
      cacheWrite: given.cacheWriteTokens,
    },
    outputTokens: {
      total: given.outputTokens,
      text: given.textTokens,
      reasoning: given.reasoningTokens,
    },
    // The provider sent it as an object.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    ...(raw === undefined ? {} : { raw: raw as NonNullable<LanguageModelV4Usage["raw"]> }),
  };
}

// The model calls in a log with their parts and ends. Pure.

export type StepEnd = SessionEvent<
  "step.finished" | "step.failed" | "step.retrying" | "step.interrupted" | "context.overflowed"
>;

export interface RecordedCall {
  readonly started: SessionEvent<"step.started">;
  readonly parts: readonly SessionEvent[];
  /** Undefined if the process died before it. */
  readonly end: StepEnd | undefined;
  /**
   * The position from which the call may end: before calls that are skipped with it, before a reduction, and
   * before a stop that came too late.
   */
  readonly endsAt: number | undefined;
}

export function recordedCalls(events: readonly SessionEvent[]): readonly RecordedCall[] {
  const calls: RecordedCall[] = [];
  let parts: SessionEvent[] = [];
  let stopped: number | undefined;
  for (const event of events) {
    const last = calls.at(-1);
    switch (event.type) {
      case "step.started":
        parts = [];
        stopped = undefined;
        calls.push({ started: event, parts, end: undefined, endsAt: undefined });
        break;
      case "step.finished":
      case "step.failed":
      case "step.retrying":
      case "step.interrupted":
      case "context.overflowed":
        if (last?.end === undefined && last !== undefined) {
          const late = event.type === "step.finished" ? stopped : undefined;
          const endsAt = late ?? last.endsAt ?? event.position;
          calls[calls.length - 1] = { ...last, end: event, endsAt };
        }
        break;
      case "tool.skipped":
      case "context.reduced":
      case "step.failed-over":
        // After the end of a step, calls are skipped for other reasons.
        if (last !== undefined && last.end === undefined && last.endsAt === undefined)
          calls[calls.length - 1] = { ...last, endsAt: event.position };
        break;
      default:
        if (!event.type.startsWith("part.")) break;
        parts.push(event);
        stopped = undefined;
    }
    if (isStop(event)) stopped ??= event.position;
  }
  return calls;
}

export function isTimeUp(event: SessionEvent): boolean {
  return event.type === "turn.limit-reached" && event.data.limit === "time";
}

/** Whether the running step was stopped here, by a person or by the time limit. */
export function isStop(event: SessionEvent): boolean {
  if (event.type === "turn.cancel-requested") return event.data.mode !== "after-tools";
  return isTimeUp(event);
}
