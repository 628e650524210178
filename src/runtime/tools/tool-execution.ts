/**
 * Runs one tool once, by the AI SDK's own rules, within its time. Never throws: how it went is its
 * answer. A tool that does not stop when it is told to is left behind, its outcome unknown.
 */

import { executeTool, isExecutableTool } from "@ai-sdk/provider-utils";
import type { ModelMessage, Tool } from "ai";
import type { JsonValue, ModelOutput, StoredError } from "../../events/index.ts";
import type { CallPart } from "../../projections/index.ts";
import type { CallIdentity } from "./call-identity.ts";
import {
  defer,
  onAbort,
  toJson,
  toStoredError,
  withMessages,
  type Timer,
} from "../../shared/index.ts";
import { failureOutput } from "../../mcp/index.ts";
import { recordedOutput } from "./recorded-output.ts";

export interface ToolExecution {
  readonly tool: Tool;
  readonly call: CallPart;
  readonly identity: CallIdentity;
  readonly input: unknown;
  /** The messages of the prompt that the call answers. */
  readonly messages: readonly ModelMessage[];
  /** Aborted when the turn is cancelled. */
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  /** Milliseconds between telling a tool to stop and leaving it behind. */
  readonly graceMs: number;
  readonly timer: Timer;
  /** The tool goes on when what it answers has resolved. */
  readonly onProgress: (output: unknown) => Promise<void> | undefined;
}

export type Execution =
  | {
      readonly kind: "succeeded";
      readonly output: JsonValue;
      /** Undefined where the model is given the output itself. */
      readonly modelOutput: ModelOutput | undefined;
    }
  | {
      readonly kind: "failed";
      readonly error: StoredError;
      /** Undefined where the model is given the error's message. */
      readonly modelOutput?: ModelOutput | undefined;
    }
  | { readonly kind: "unknown"; readonly reason: "cancelled" | "timed-out" };

/** What is said of a call that was cancelled between its start and its run. */
export const NOT_RUN: string = "Cancelled before it was run: it had no effect.";

export async function executeCall(run: ToolExecution): Promise<Execution> {
  const { signal, timeoutMs, graceMs, timer, call, identity } = run;
  const { callId, toolName } = call;
  if (signal.aborted) {
    // What an attempt before a restart has done is not known.
    if (identity.attempt > 1) return { kind: "unknown", reason: "cancelled" };
    return failed(new Error(NOT_RUN));
  }
  const stop = new AbortController();
  const leave = Promise.withResolvers<Execution>();
  let grace: Disposable | undefined;
  const end = (reason: "cancelled" | "timed-out", error: unknown): void => {
    stop.abort(error);
    // Told to stop twice, it has the time that it was given first.
    const left = (): void => {
      leave.resolve({ kind: "unknown", reason });
    };
    grace ??= timer(graceMs, left, { kind: "grace", callId });
  };
  const late = (): void => {
    const message = `The tool ${toolName} ran longer than ${timeoutMs} ms.`;
    end("timed-out", new DOMException(message, "TimeoutError"));
  };
  const limit =
    timeoutMs === undefined ? undefined : timer(timeoutMs, late, { kind: "tool", callId });
  const watch = onAbort(signal, () => {
    end("cancelled", signal.reason);
  });
  using _ = defer(() => {
    watch[Symbol.dispose]();
    limit?.[Symbol.dispose]();
    grace?.[Symbol.dispose]();
  });
  return await Promise.race([execute(run, stop.signal), leave.promise]);
}

async function execute(run: ToolExecution, signal: AbortSignal): Promise<Execution> {
  const { tool, call, identity, input, messages, onProgress } = run;
  if (!isExecutableTool(tool)) {
    return failed(new Error(`The tool ${call.toolName} cannot be run.`));
  }
  try {
    let output: unknown;
    const own = {
      toolCallId: call.callId,
      abortSignal: signal,
      // The SDK types the context by the tool, which is not known here.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      context: undefined as never,
      turnlog: identity,
    };
    const options = withMessages(own, messages);
    for await (const part of executeTool({ tool, input, options })) {
      if (part.type !== "preliminary") {
        output = part.output;
        continue;
      }
      const wait = onProgress(part.output);
      if (wait !== undefined) await wait;
    }
    const json = toJson(output);
    return { kind: "succeeded", output: json, modelOutput: await modelOutput(run, output, json) };
  } catch (error) {
    return failed(error);
  }
}

/** Whatever was thrown is read here, once: it may throw when it is read. */
function failed(thrown: unknown): Execution {
  const error = toStoredError(thrown);
  return { kind: "failed", error, modelOutput: failureOutput(error) };
}

/** What the model is shown of an output, by the SDK's rules: `toModelOutput`, else text or JSON. */
async function modelOutput(
  { tool, call, input }: ToolExecution,
  output: unknown,
  json: JsonValue,
): Promise<ModelOutput | undefined> {
  if (tool.toModelOutput === undefined) {
    // A date is text only once it is JSON: the output alone does not tell that it is not text.
    const becameText = typeof json === "string" && typeof output !== "string";
    return becameText ? { type: "json", value: json } : undefined;
  }
  try {
    const given: unknown = await tool.toModelOutput({ toolCallId: call.callId, input, output });
    return recordedOutput(given);
  } catch (error) {
    // The tool has done its work: only how it is told to the model went wrong.
    const { message } = toStoredError(error);
    return {
      type: "error-text",
      value: `The tool succeeded, but its output could not be converted: ${message}`,
    };
  }
}
