/**
 * The AI SDK's step results, rebuilt from the history: the same before and after a restart.
 */

import { type Context, convertBase64ToUint8Array } from "@ai-sdk/provider-utils";
import type { LanguageModelUsage, StepResult, ToolSet, GeneratedFile } from "ai";
import { ownCopy, type ResponseMetadata, type TokenUsage } from "../events/index.ts";
import {
  isCustomKind,
  itemMessages,
  type HistoryState,
  type StepItem,
  type UserItem,
  type CallPart,
  type HistoryPart,
  type ProviderCallPart,
} from "../projections/index.ts";

type Result = StepResult<ToolSet>;

interface StepValues {
  readonly session: string;
  readonly runtimeContext: Context;
  readonly toolsContext: Readonly<Record<string, Context>>;
}

const known = new WeakMap<StepItem, Result>();

/** The finished steps of the running turn, or of the last one. Each is made once, its content when read. */
export function stepResults(
  { items, open, turn }: HistoryState,
  values: StepValues,
): Array<StepResult<ToolSet>> {
  const first = items.findLastIndex((item) => item.turn !== turn) + 1;
  const results: Result[] = [];
  let steering: UserItem[] = [];
  for (let index = first; index <= items.length; index++) {
    const item = index === items.length ? open : items[index];
    if (item?.kind === "user") steering.push(item);
    if (item?.kind !== "step" || item.status !== "finished") continue;
    const given = results.length === 0 ? [] : steering;
    const result = known.get(item) ?? new RecordedStep(item, results.length, values, given);
    known.set(item, result);
    results.push(result);
    steering = [];
  }
  return results;
}

class RecordedStep implements Result {
  readonly callId: string;
  readonly stepNumber: number;
  readonly runtimeContext: Context;
  readonly toolsContext: Result["toolsContext"];
  readonly request = {};
  readonly experimental_steeringMessages?: NonNullable<Result["experimental_steeringMessages"]>;
  readonly #item: StepItem;
  #content: Result["content"] | undefined;
  #response: Result["response"] | undefined;

  constructor(
    item: StepItem,
    stepNumber: number,
    { session, runtimeContext, toolsContext }: StepValues,
    steering: readonly UserItem[],
  ) {
    this.#item = item;
    this.callId = `${session}:${item.turn}`;
    this.stepNumber = stepNumber;
    this.runtimeContext = runtimeContext;
    this.toolsContext = toolsContext;
    if (steering.length > 0)
      this.experimental_steeringMessages = steering
        .flatMap((message) => ownCopy([...itemMessages(message)]))
        .filter((message) => message.role === "user");
  }

  get model(): Result["model"] {
    return { ...this.#item.model };
  }

  get finishReason(): Result["finishReason"] {
    return this.#item.finishReason ?? "other";
  }

  get rawFinishReason(): string | undefined {
    return this.#item.end?.rawFinishReason;
  }

  get usage(): LanguageModelUsage {
    return sdkUsage(this.#item.end?.usage);
  }

  get providerMetadata(): Result["providerMetadata"] {
    const { providerMetadata } = this.#item.end ?? {};
    return providerMetadata && ownCopy(providerMetadata);
  }

  get warnings(): Result["warnings"] {
    // The model wrote them, and the SDK passes them on as they are.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return ownCopy(this.#item.warnings ?? []) as unknown as Result["warnings"];
  }

  get performance(): Result["performance"] {
    const { time, end } = this.#item;
    const { inputTokens = 0, outputTokens = 0 } = end?.usage ?? {};
    const responseTimeMs = Math.max(0, (end?.time ?? time) - time);
    const perSecond = (tokens: number): number =>
      responseTimeMs === 0 ? 0 : (tokens * 1000) / responseTimeMs;
    return {
      effectiveOutputTokensPerSecond: perSecond(outputTokens),
      outputTokensPerSecond: undefined,
      inputTokensPerSecond: undefined,
      effectiveTotalTokensPerSecond: perSecond(inputTokens + outputTokens),
      stepTimeMs: responseTimeMs,
      responseTimeMs,
      toolExecutionMs: {},
      timeToFirstOutputMs: undefined,
    };
  }

  get response(): Result["response"] {
    const { end, model, time } = this.#item;
    const answered: ResponseMetadata = end?.response ?? {};
    const { id = "", modelId = model.modelId, timestamp = time } = answered;
    this.#response ??= {
      id,
      modelId,
      timestamp: new Date(timestamp),
      messages: ownCopy([...itemMessages(this.#item)]).filter(
        (message) => message.role === "assistant" || message.role === "tool",
      ),
    };
    return this.#response;
  }

  get content(): Result["content"] {
    this.#content ??= contentOf(this.#item);
    return this.#content;
  }

  get text(): string {
    return this.#of("text")
      .map((part) => part.text)
      .join("");
  }

  get reasoning(): Result["reasoning"] {
    return this.content.flatMap((part): Result["reasoning"] => {
      const { providerMetadata } = "providerMetadata" in part ? part : {};
      const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
      if (part.type === "reasoning") return [{ type: part.type, text: part.text, ...options }];
      if (part.type !== "reasoning-file") return [];
      const { base64: data, mediaType } = part.file;
      return [{ type: part.type, data, mediaType, ...options }];
    });
  }

  get reasoningText(): string | undefined {
    const texts = this.#of("reasoning").map((part) => part.text);
    return texts.length === 0 ? undefined : texts.join("");
  }

  get files(): Result["files"] {
    return this.#of("file").map((part) => part.file);
  }

  get sources(): Result["sources"] {
    return this.#of("source");
  }

  get toolCalls(): Result["toolCalls"] {
    return this.#of("tool-call");
  }

  get staticToolCalls(): Result["staticToolCalls"] {
    return this.toolCalls.filter((call) => call.dynamic !== true);
  }

  get dynamicToolCalls(): Result["dynamicToolCalls"] {
    return this.toolCalls.filter((call) => call.dynamic === true);
  }

  get toolResults(): Result["toolResults"] {
    return this.#of("tool-result");
  }

  get staticToolResults(): Result["staticToolResults"] {
    return this.toolResults.filter((result) => result.dynamic !== true);
  }

  get dynamicToolResults(): Result["dynamicToolResults"] {
    return this.toolResults.filter((result) => result.dynamic === true);
  }

  #of<Type extends StepContent["type"]>(type: Type): Array<OfType<Type>> {
    return this.content.filter((part): part is OfType<Type> => part.type === type);
  }
}

/** The provider's figures; undefined where it reported none. */
function sdkUsage(usage: TokenUsage | undefined): LanguageModelUsage {
  const given = usage?.basis === "measured" ? usage : undefined;
  return {
    inputTokens: given?.inputTokens,
    inputTokenDetails: {
      noCacheTokens: given?.uncachedInputTokens,
      cacheReadTokens: given?.cacheReadTokens,
      cacheWriteTokens: given?.cacheWriteTokens,
    },
    outputTokens: given?.outputTokens,
    outputTokenDetails: {
      textTokens: given?.textTokens,
      reasoningTokens: given?.reasoningTokens,
    },
    totalTokens: given && given.inputTokens + given.outputTokens,
  };
}

// The content of one of the AI SDK's step results, made of a step of the history. Calls and results have
// their recorded form, which is JSON; a file in a blob is its reference.

type ContentResult = StepResult<ToolSet>;

type StepContent = ContentResult["content"][number];
type OfType<Type extends StepContent["type"]> = Extract<StepContent, { readonly type: Type }>;

/** The parts as the model gave them, then the results of the agent's tools in the order of the calls. */
function contentOf({ parts }: StepItem): StepContent[] {
  const calls = parts.filter((part) => part.kind === "call");
  return [...parts.flatMap((part) => contentPart(part, parts)), ...calls.flatMap(outcome)];
}

function contentPart(part: HistoryPart, parts: readonly HistoryPart[]): readonly StepContent[] {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return [{ type: part.kind, text: part.text, ...metadata(part) }];
    case "call":
    case "provider-call":
      return [toolCall(part)];
    case "provider-result": {
      const call = parts.find(
        (one): one is ProviderCallPart =>
          one.kind === "provider-call" && one.callId === part.callId,
      );
      const given = { ...named(part, call), providerExecuted: true, ...metadata(part) };
      const output = ownCopy(part.output);
      return part.isError
        ? [{ type: "tool-error", ...given, error: output }]
        : [{ type: "tool-result", ...given, output }];
    }
    case "file":
    case "reasoning-file": {
      const { data, mediaType } = part;
      const base64 = typeof data === "string" ? data : JSON.stringify(data);
      return [{ type: part.kind, file: generatedFile(base64, mediaType), ...metadata(part) }];
    }
    case "custom":
      return isCustomKind(part.customKind)
        ? [{ type: "custom", kind: part.customKind, ...metadata(part) }]
        : [];
    case "source":
      // A provider wrote it, and the SDK passes it on as it is.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return [{ ...ownCopy(part.source), type: "source" } as unknown as OfType<"source">];
    case "error":
      return [];
  }
}

type AnyCall = CallPart | ProviderCallPart;

/** As dynamic, since the tools' types are not known here. Calls of static tools lose the mark. */
function named(
  { callId, toolName }: Pick<AnyCall, "callId" | "toolName">,
  call: AnyCall | undefined,
): Pick<OfType<"tool-result">, "toolCallId" | "toolName" | "input"> & { readonly dynamic: true } {
  const dynamic = call?.dynamic === true || call?.invalid === true ? { dynamic: true } : {};
  // The types of static tools come from the agent, which a log does not know.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { toolCallId: callId, toolName, input: ownCopy(call?.input), ...dynamic } as {
    toolCallId: string;
    toolName: string;
    input: unknown;
    dynamic: true;
  };
}

function toolCall(part: AnyCall): StepContent {
  return {
    type: "tool-call",
    ...named(part, part),
    ...(part.kind === "provider-call" ? { providerExecuted: true } : {}),
    ...(part.kind === "call" && part.title !== undefined ? { title: part.title } : {}),
    ...(part.invalid === true ? { invalid: true } : {}),
    ...(part.kind === "call" && part.error !== undefined ? { error: part.error } : {}),
    ...metadata(part),
  };
}

function outcome(call: CallPart): readonly StepContent[] {
  const given = { ...named(call, call), ...metadata(call) };
  const failed = (error: unknown): readonly StepContent[] => [
    { type: "tool-error", ...given, error },
  ];
  switch (call.outcome.status) {
    case "succeeded":
      return [{ type: "tool-result", ...given, output: ownCopy(call.outcome.output) }];
    case "failed": {
      const { name, message } = call.outcome.error;
      return failed(Object.assign(new Error(message), { name }));
    }
    case "denied":
    case "skipped":
    case "unknown": {
      const { status, reason } = call.outcome;
      return failed(
        new Error(`The call is ${status}${reason === undefined ? "" : `: ${reason}`}.`),
      );
    }
    case "waiting":
    case "awaiting-approval":
    case "awaiting-output":
    case "approved":
    case "refused":
    case "running":
      return [];
  }
}

function metadata(part: { readonly providerMetadata?: object }): {
  readonly providerMetadata?: NonNullable<ContentResult["providerMetadata"]>;
} {
  const { providerMetadata } = part;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const own = providerMetadata as ContentResult["providerMetadata"];
  return own === undefined ? {} : { providerMetadata: ownCopy(own) };
}

function generatedFile(base64: string, mediaType: string): GeneratedFile {
  return {
    base64,
    mediaType,
    get uint8Array() {
      return convertBase64ToUint8Array(base64);
    },
  };
}
