/**
 * One run of a turn, as the AI SDK's callbacks see a call of `agent.stream()`: from its first work in this
 * process until the turn ends or waits for people. It makes the events and calls no listener. No clock, no I/O.
 */

import type {
  GenerateTextEndEvent,
  GenerateTextStartEvent,
  GenerateTextStepStartEvent,
  LanguageModelCallEndEvent,
  LanguageModelUsage,
  ModelMessage,
  OutputInterface,
  StepResult,
  ToolSet,
} from "ai";
import {
  type Agent,
  type CallFailure,
  type TurnContext,
  callSettings,
  maxAttempts,
  nameOf,
  unreportedUsage,
} from "../../agent/index.ts";
import type { SessionEvent } from "../../events/index.ts";
import { itemMessages, type StepItem } from "../../projections/index.ts";
import type { Approval } from "../../state/index.ts";

type Result = StepResult<ToolSet>;
type ContentPart = Result["content"][number];

/** A step that has begun. Its fields fill up while it runs. */
export interface OpenStep {
  readonly step: number;
  readonly start: GenerateTextStepStartEvent;
  /** Milliseconds of a monotonic clock. */
  readonly startedAt: number;
  readonly attempts: CallFailure[];
  called?: LanguageModelCallEndEvent;
  request?: Result["request"];
  headers?: Record<string, string>;
  warnings: Result["warnings"];
  finished?: SessionEvent<"step.finished">["data"];
  readonly outputs: ContentPart[];
  readonly toolExecutionMs: Record<string, number>;
}

export interface OperationSetup {
  readonly agent: Agent;
  readonly messages: readonly ModelMessage[];
  readonly context: Required<TurnContext>;
  readonly output?: OutputInterface | undefined;
}

export class Operation {
  readonly callId: string;
  readonly start: GenerateTextStartEvent;
  readonly steps: Result[] = [];
  step: OpenStep | undefined;
  #context: Required<TurnContext>;

  constructor(callId: string, setup: OperationSetup) {
    this.callId = callId;
    this.#context = setup.context;
    const { agent } = setup;
    this.start = {
      callId,
      operationId: "ai.streamText",
      ...nameOf(agent.model),
      instructions: agent.instructions,
      messages: [...setup.messages],
      ...this.#tools(agent),
      ...callSettings(agent),
      maxRetries: maxAttempts(agent) - 1,
      timeout: agent.timeout,
      headers: agent.headers,
      providerOptions: agent.providerOptions,
      output: setup.output,
      ...this.#contexts(),
    };
  }

  /** Begins a step. Further attempts belong to the same step. */
  beginStep(step: number, startedAt: number, setup: OperationSetup): OpenStep {
    const { agent } = setup;
    this.#context = setup.context;
    this.step = {
      step,
      startedAt,
      start: {
        callId: this.callId,
        ...nameOf(agent.model),
        stepNumber: this.steps.length,
        instructions: agent.instructions,
        messages: [...setup.messages],
        ...this.#tools(agent),
        steps: [...this.steps],
        providerOptions: agent.providerOptions,
        output: setup.output,
        ...this.#contexts(),
      },
      attempts: [],
      warnings: [],
      outputs: [],
      toolExecutionMs: {},
    };
    return this.step;
  }

  /** The result of the open step, which is then among the finished ones. */
  finishStep(
    open: OpenStep,
    item: StepItem | undefined,
    asked: readonly Approval[],
    now: number,
  ): Result {
    const { start, called, finished, headers } = open;
    const finishReason = finished?.finishReason ?? "error";
    const result = liveStep({
      callId: this.callId,
      stepNumber: start.stepNumber,
      model: { provider: start.provider, modelId: start.modelId },
      runtimeContext: start.runtimeContext,
      toolsContext: start.toolsContext,
      content: [...withQuestions(called?.content ?? textsOf(item), asked), ...open.outputs],
      finishReason,
      rawFinishReason: finished?.rawFinishReason,
      usage: called?.usage ?? unreportedUsage,
      performance: {
        ...noPerformance,
        ...called?.performance,
        stepTimeMs: now - open.startedAt,
        toolExecutionMs: open.toolExecutionMs,
      },
      warnings: open.warnings,
      request: open.request ?? {},
      response: {
        id: finished?.response.id ?? called?.responseId ?? "",
        modelId: finished?.response.modelId ?? start.modelId,
        timestamp: new Date(finished?.response.timestamp ?? item?.time ?? 0),
        ...(headers === undefined ? {} : { headers }),
        messages: askingMessages(responseMessages(item), asked),
      },
      providerMetadata: called?.providerMetadata,
    });
    this.steps.push(result);
    this.step = undefined;
    return result;
  }

  /** Undefined if no step was finished. */
  end(): GenerateTextEndEvent | undefined {
    const { steps, callId } = this;
    const finalStep = steps.at(-1);
    if (finalStep === undefined) return undefined;
    const { performance: _, ...last } = finalStep;
    const usage: LanguageModelUsage = totalUsage(steps);
    const all = <Value>(of: (step: Result) => readonly Value[] | undefined): Value[] =>
      steps.flatMap((step) => of(step) ?? []);
    return {
      ...last,
      callId,
      usage,
      // Deprecated, and still what many programs read.
      // oxlint-disable-next-line typescript/no-deprecated
      totalUsage: usage,
      content: all((step) => step.content),
      files: all((step) => step.files),
      sources: all((step) => step.sources),
      toolCalls: all((step) => step.toolCalls),
      staticToolCalls: all((step) => step.staticToolCalls),
      dynamicToolCalls: all((step) => step.dynamicToolCalls),
      toolResults: all((step) => step.toolResults),
      staticToolResults: all((step) => step.staticToolResults),
      dynamicToolResults: all((step) => step.dynamicToolResults),
      responseMessages: all((step) => step.response.messages),
      warnings: all((step) => step.warnings),
      steps: [...steps],
      finalStep,
    };
  }

  #tools(
    agent: Agent,
  ): Pick<GenerateTextStartEvent, "tools" | "toolChoice" | "activeTools" | "toolOrder"> {
    return {
      tools: agent.tools,
      toolChoice: agent.toolChoice,
      activeTools: agent.activeTools,
      toolOrder: agent.toolOrder,
    };
  }

  #contexts(): Pick<GenerateTextStartEvent, "runtimeContext" | "toolsContext"> {
    return { ...this.#context };
  }
}

const noPerformance = {
  effectiveOutputTokensPerSecond: 0,
  outputTokensPerSecond: undefined,
  inputTokensPerSecond: undefined,
  effectiveTotalTokensPerSecond: 0,
  responseTimeMs: 0,
  timeToFirstOutputMs: undefined,
} as const;

function responseMessages(item: StepItem | undefined): Result["response"]["messages"] {
  const messages = item === undefined ? [] : itemMessages(item);
  return messages.filter((message) => message.role === "assistant" || message.role === "tool");
}

/** The content of a failed call. */
function textsOf(item: StepItem | undefined): readonly ContentPart[] {
  return (item?.parts ?? []).flatMap((part): ContentPart[] =>
    part.kind === "text" || part.kind === "reasoning" ? [{ type: part.kind, text: part.text }] : [],
  );
}

// The content and the messages of a step whose calls wait for people, as the AI SDK has them. Pure.

type Messages = Result["response"]["messages"];

type Asked = Pick<Approval, "approvalId" | "callId">;

/** Each question follows its call. */
function withQuestions(
  content: readonly ContentPart[],
  asked: readonly Asked[],
): readonly ContentPart[] {
  return content.flatMap((part) => {
    const approvalId = part.type === "tool-call" ? questionOf(part.toolCallId, asked) : undefined;
    if (part.type !== "tool-call" || approvalId === undefined) return [part];
    return [part, { type: "tool-approval-request", approvalId, toolCall: part }];
  });
}

/** The calls that wait have questions, and no results. */
function askingMessages(messages: Messages, asked: readonly Asked[]): Messages {
  if (asked.length === 0) return messages;
  return messages.flatMap((message): Messages => {
    if (message.role === "assistant") {
      if (typeof message.content === "string") return [message];
      const content = message.content.flatMap((part) => {
        const id = part.type === "tool-call" ? questionOf(part.toolCallId, asked) : undefined;
        if (part.type !== "tool-call" || id === undefined) return [part];
        const { toolCallId } = part;
        return [part, { type: "tool-approval-request" as const, approvalId: id, toolCallId }];
      });
      return [{ ...message, content }];
    }
    const content = message.content.filter(
      (part) => part.type !== "tool-result" || questionOf(part.toolCallId, asked) === undefined,
    );
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

function questionOf(callId: string, asked: readonly Asked[]): string | undefined {
  return asked.find((one) => one.callId === callId)?.approvalId;
}

// The AI SDK's result of a step that has just run, with what only the running process knows.

type OfType<Type extends ContentPart["type"]> = Extract<ContentPart, { readonly type: Type }>;

/** The fields of a result that its content does not give. */
type StepFields = Pick<
  Result,
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
function liveStep(fields: StepFields): Result {
  const { content } = fields;
  const of = <Type extends ContentPart["type"]>(type: Type): Array<OfType<Type>> =>
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

function reasoningPart(part: ContentPart): Result["reasoning"] {
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
function totalUsage(steps: readonly Result[]): LanguageModelUsage {
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
