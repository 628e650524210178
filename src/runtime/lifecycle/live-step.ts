/** The AI SDK's result of a step that has just run, with what only the running process knows. */

import type { ContentPart, LanguageModelUsage, StepResult, ToolSet } from "ai";
import { unreportedUsage } from "../../agent/index.ts";

type StepOfResult = StepResult<ToolSet>;
type StepContent = ContentPart<ToolSet>;
type OfType<Type extends StepContent["type"]> = Extract<StepContent, { readonly type: Type }>;

/** The fields of a result that its content does not give. */
export type StepFields = Pick<
  StepOfResult,
  | "callId"
  | "stepNumber"
  | "model"
  | "toolsContext"
  | "runtimeContext"
  | "content"
  | "finishReason"
  | "rawFinishReason"
  | "usage"
  | "performance"
  | "warnings"
  | "request"
  | "response"
  | "providerMetadata"
>;

/** All fields are properties of the object, so that listeners may spread it. */
export function liveStep(fields: StepFields): StepOfResult {
  const { content } = fields;
  const of = <Type extends StepContent["type"]>(type: Type): Array<OfType<Type>> =>
    content.filter((part): part is OfType<Type> => part.type === type);
  const toolCalls = of("tool-call");
  const toolResults = of("tool-result");
  const reasoningTexts = of("reasoning").map((part) => part.text);
  return {
    ...fields,
    text: of("text")
      .map((part) => part.text)
      .join(""),
    reasoning: content.flatMap(reasoningPart),
    reasoningText: reasoningTexts.join("") === "" ? undefined : reasoningTexts.join(""),
    files: of("file").map((part) => part.file),
    sources: of("source"),
    toolCalls,
    staticToolCalls: toolCalls.filter((call) => call.dynamic !== true),
    dynamicToolCalls: toolCalls.filter((call) => call.dynamic === true),
    toolResults,
    staticToolResults: toolResults.filter((result) => result.dynamic !== true),
    dynamicToolResults: toolResults.filter((result) => result.dynamic === true),
  };
}

function reasoningPart(part: StepContent): StepOfResult["reasoning"] {
  if (part.type !== "reasoning" && part.type !== "reasoning-file") return [];
  const { providerMetadata } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  if (part.type === "reasoning") return [{ type: part.type, text: part.text, ...options }];
  const { base64: data, mediaType } = part.file;
  return [{ type: part.type, data, mediaType, ...options }];
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

/** The sum over steps. A provider's raw figures remain only where there is one step. */
export function totalUsage(steps: readonly StepOfResult[]): LanguageModelUsage {
  const [first = unreportedUsage, ...rest] = steps.map((step) => step.usage);
  return rest.reduce(
    (total, usage) => ({
      inputTokens: sum(total.inputTokens, usage.inputTokens),
      inputTokenDetails: {
        noCacheTokens: sum(
          total.inputTokenDetails.noCacheTokens,
          usage.inputTokenDetails.noCacheTokens,
        ),
        cacheReadTokens: sum(
          total.inputTokenDetails.cacheReadTokens,
          usage.inputTokenDetails.cacheReadTokens,
        ),
        cacheWriteTokens: sum(
          total.inputTokenDetails.cacheWriteTokens,
          usage.inputTokenDetails.cacheWriteTokens,
        ),
      },
      outputTokens: sum(total.outputTokens, usage.outputTokens),
      outputTokenDetails: {
        textTokens: sum(total.outputTokenDetails.textTokens, usage.outputTokenDetails.textTokens),
        reasoningTokens: sum(
          total.outputTokenDetails.reasoningTokens,
          usage.outputTokenDetails.reasoningTokens,
        ),
      },
      totalTokens: sum(total.totalTokens, usage.totalTokens),
    }),
    first,
  );
}
