/** One run of a tool: its events for callbacks and telemetry. */

import { defined, ownCopy, type SessionEvent } from "../../events/index.ts";
import type { ModelMessage, StepResult, ToolExecutionStartEvent, ToolSet } from "ai";
import type { Dispatcher } from "../../telemetry/index.ts";
import type { ToolObserver, ToolOutcome, ToolSetup } from "../tools/tool-execution.ts";

type Content = StepResult<ToolSet>["content"][number];
type SdkToolCall = Extract<Content, { readonly type: "tool-call" }>;
type SdkToolOutput = Extract<Content, { readonly type: "tool-result" | "tool-error" }>;

interface ObservedToolOptions {
  readonly dispatcher: Dispatcher;
  readonly operation: string;
  readonly toolCall: SdkToolCall;
  readonly isDynamic: boolean;
  readonly messages: readonly ModelMessage[];
  readonly toolContext: unknown;
}

export class ObservedTool implements ToolObserver {
  readonly #options: ObservedToolOptions;
  readonly #start: ToolExecutionStartEvent;
  /** Milliseconds of a monotonic clock. */
  #begin: number | undefined;
  #took = 0;
  #outcome: ToolOutcome = {
    kind: "failed",
    error: new DOMException("The tool did not end in time after it was stopped.", "AbortError"),
  };

  constructor(options: ObservedToolOptions) {
    this.#options = options;
    const { operation, toolCall, messages, toolContext } = options;
    this.#start = { callId: operation, toolCall, messages: [...messages], toolContext };
  }

  async started(): Promise<void> {
    await this.#options.dispatcher.notify("onToolExecutionStart", this.#start);
  }

  run<Value>(work: () => PromiseLike<Value>): PromiseLike<Value> {
    const { toolCallId } = this.#options.toolCall;
    return this.#options.dispatcher.executeTool({
      ...this.#start,
      toolCallId,
      execute: async () => {
        this.#begin = performance.now();
        try {
          return await work();
        } finally {
          this.#took = performance.now() - this.#begin;
        }
      },
    });
  }

  answered(outcome: ToolOutcome): void {
    this.#outcome = outcome;
  }

  get output(): SdkToolOutput {
    const { toolCall, isDynamic } = this.#options;
    const { toolCallId, toolName, providerMetadata, toolMetadata } = toolCall;
    const input: unknown = toolCall.input;
    const given = {
      toolCallId,
      toolName,
      input,
      dynamic: isDynamic,
      ...defined({ providerMetadata, toolMetadata }),
    };
    return this.#outcome.kind === "succeeded"
      ? { type: "tool-result", ...given, output: this.#outcome.output }
      : { type: "tool-error", ...given, error: this.#outcome.error };
  }

  /** Milliseconds that the tool ran. */
  get toolExecutionMs(): number {
    return this.#took;
  }

  async ended(): Promise<void> {
    const { output: toolOutput, toolExecutionMs } = this;
    await this.#options.dispatcher.notify("onToolExecutionEnd", {
      ...this.#start,
      toolOutput,
      toolExecutionMs,
    });
  }
}

/** The SDK's answer to a call whose input does not fit, or whose tool does not exist. */
export function invalidCall(data: SessionEvent<"part.tool-error">["data"]): SdkToolOutput {
  const { toolCallId, toolName, input, error } = data;
  return { type: "tool-error", toolCallId, toolName, input, error, dynamic: true };
}

/** The call as the SDK made it; after a restart, as the history has it. */
export function sdkCall({ call, input }: ToolSetup, content: readonly Content[] = []): SdkToolCall {
  const known = content.find(
    (part) => part.type === "tool-call" && part.toolCallId === call.callId,
  );
  if (known?.type === "tool-call") return known;
  const { callId: toolCallId, toolName, title, providerMetadata } = call;
  return {
    type: "tool-call",
    toolCallId,
    toolName,
    input,
    ...(title === undefined ? {} : { title }),
    ...(providerMetadata === undefined ? {} : { providerMetadata: ownCopy(providerMetadata) }),
  };
}
