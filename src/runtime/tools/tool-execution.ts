/**
 * Runs one tool once, by the AI SDK's rules, within its time limit. Called by the tool runner. Never
 * throws: it returns the outcome. A tool that ignores its abort signal is abandoned, its outcome unknown.
 */

import {
  convertUint8ArrayToBase64,
  executeTool,
  isExecutableTool,
  safeValidateTypes,
} from "@ai-sdk/provider-utils";
import type { ModelMessage, ToolSet } from "ai";
import {
  modelOutputSchema,
  outputFault,
  ownCopy,
  storedErrorSchema,
  TurnlogError,
  type CallQuestion,
  type JsonValue,
  type ModelOutput,
  type StoredError,
  isSessionId,
  segmentOf,
  type ParentCall,
} from "../../events/index.ts";
import {
  AskedPerson,
  asking,
  type Agent,
  type AnsweredQuestion,
  type RunInSession,
  type TurnContext,
  agentToolOptions,
  DEFAULT_MAX_DEPTH,
} from "../../agent/index.ts";
import type { Offloaded, SessionBlobs } from "../../media/index.ts";
import type { CallPart } from "../../projections/index.ts";
import {
  defer,
  onAbort,
  toJson,
  toStoredError,
  withMessages,
  type Timer,
} from "../../shared/index.ts";
import { failureOutput } from "../../mcp/index.ts";
import { z } from "zod";
import { hash } from "node:crypto";
import { effectIdOf, type SessionRecorder } from "../../state/index.ts";

export type AnyTool = ToolSet[string];

interface ToolExecution {
  readonly tool: AnyTool;
  readonly call: CallPart;
  readonly identity: CallIdentity;
  readonly input: unknown;
  /** What persons answered to earlier attempts. */
  readonly answers: readonly AnsweredQuestion[];
  /** The context of the tool, validated by its schema. */
  readonly context: () => Promise<unknown>;
  /** The context of the turn. */
  readonly turn: () => Promise<TurnContext>;
  /** The messages of the prompt that the call answers. */
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  /** Milliseconds between the abort of a tool and its abandonment; `Infinity`: it is never abandoned. */
  readonly graceMs: number;
  readonly timer: Timer;
  /** Runs a call of `agentTool`. */
  readonly runInSession?: RunInSession;
  /** Called before the tool runs; its callbacks may take their time. */
  readonly observe?: (given: {
    readonly toolContext: unknown;
    readonly signal: AbortSignal;
  }) => Promise<ToolObserver | undefined>;
  /** The tool continues when the returned promise resolves. */
  readonly onProgress: (output: unknown) => Promise<void> | undefined;
}

export type Execution =
  | {
      readonly kind: "succeeded";
      readonly output: JsonValue;
      /** Undefined if the model gets the output itself. */
      readonly modelOutput: ModelOutput | undefined;
    }
  | {
      readonly kind: "failed";
      readonly error: StoredError;
      /** Undefined if the model gets the error's message. */
      readonly modelOutput?: ModelOutput | undefined;
    }
  | { readonly kind: "unknown"; readonly reason: "cancelled" | "timed-out" }
  | {
      readonly kind: "asked";
      readonly question: CallQuestion;
      readonly state: JsonValue | undefined;
    };

export type Ended = Extract<Execution, { readonly kind: "succeeded" | "failed" }>;

/** The error of a call that was cancelled after its start was recorded and before its tool ran. */
export const NOT_RUN = "Cancelled before it was run: it had no effect.";

export async function executeCall(run: ToolExecution): Promise<Execution> {
  const { signal, timeoutMs, graceMs, timer, call, identity } = run;
  const { callId, toolName } = call;
  if (signal.aborted) return notRun(identity);
  const stop = new AbortController();
  const abandoned = Promise.withResolvers<Execution>();
  let grace: Disposable | undefined;
  const end = (reason: "cancelled" | "timed-out", error: unknown): void => {
    stop.abort(error);
    // A second abort does not extend the grace period.
    const abandon = (): void => {
      abandoned.resolve({ kind: "unknown", reason });
    };
    if (graceMs !== Infinity) grace ??= timer(graceMs, abandon, { kind: "grace", callId });
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
  return await Promise.race([execute(run, stop.signal), abandoned.promise]);
}

/** The end of a call that was cancelled before its tool ran. */
function notRun({ attempt }: CallIdentity): Execution {
  // An attempt before a restart may have had an effect.
  if (attempt > 1) return { kind: "unknown", reason: "cancelled" };
  return failed(new Error(NOT_RUN));
}

async function execute(run: ToolExecution, signal: AbortSignal): Promise<Execution> {
  const { tool, call, identity, input, context, messages, onProgress } = run;
  if (tool.execute === undefined || !isExecutableTool(tool)) {
    return failed(new Error(`The tool ${call.toolName} cannot be run.`));
  }
  let observer: ToolObserver | undefined;
  try {
    let output: unknown;
    const toolContext = await context();
    observer = await run.observe?.({ toolContext, signal });
    if (observer !== undefined && signal.aborted) return notRun(identity);
    const { runtimeContext } = await run.turn();
    const turnlog = { ...identity, runtimeContext, onProgress };
    const own = {
      toolCallId: call.callId,
      abortSignal: signal,
      // The SDK types the context by the tool, which is not known here.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      context: toolContext as never,
      turnlog: {
        ...turnlog,
        ...asking(run.answers),
        ...(run.runInSession === undefined ? {} : { runInSession: run.runInSession }),
      },
    };
    const options = withMessages(own, messages);
    const runTool = async (): Promise<void> => {
      for await (const part of executeTool({ tool, input, options })) {
        if (part.type !== "preliminary") {
          output = part.output;
          continue;
        }
        const wait = onProgress(part.output);
        if (wait !== undefined) await wait;
      }
    };
    await (observer === undefined ? runTool() : observer.run(runTool));
    observer?.answered({ kind: "succeeded", output });
    const json = toJson(output);
    return { kind: "succeeded", output: json, modelOutput: await modelOutput(run, output, json) };
  } catch (error) {
    observer?.answered({ kind: "failed", error });
    if (AskedPerson.is(error))
      return { kind: "asked", question: error.question, state: error.state };
    return failed(error);
  }
}

/** Reads the thrown value once: reading it may throw. */
function failed(thrown: unknown): Execution {
  const error = toStoredError(thrown);
  return { kind: "failed", error, modelOutput: failureOutput(error) };
}

/** The output as the model is shown it, by the SDK's rules: `toModelOutput`, else text or JSON. */
export async function modelOutput(
  { tool, call, input }: Pick<ToolExecution, "tool" | "call" | "input">,
  output: unknown,
  json: JsonValue,
): Promise<ModelOutput | undefined> {
  if (tool.toModelOutput === undefined) {
    // A date becomes text in JSON, and the SDK would show such an output as JSON.
    const becameText = typeof json === "string" && typeof output !== "string";
    return becameText ? { type: "json", value: json } : undefined;
  }
  try {
    const given: unknown = await tool.toModelOutput({ toolCallId: call.callId, input, output });
    return recordedOutput(given);
  } catch (error) {
    // The tool succeeded; only the conversion of its output failed.
    const { message } = toStoredError(error);
    return {
      type: "error-text",
      value: `The tool succeeded, but its output could not be converted: ${message}`,
    };
  }
}

/**
 * Converts the result of `toModelOutput` into its recorded form: bytes as base64, URLs as text.
 * @throws TurnlogError `INVALID_INPUT` for a result that no prompt can contain
 */
function recordedOutput(given: unknown): ModelOutput {
  const output = toJson(withPlainFiles(given));
  const fault = outputFault(output);
  if (fault !== undefined) throw new TurnlogError("INVALID_INPUT", fault);
  return modelOutputSchema.parse(output);
}

function withPlainFiles(given: unknown): unknown {
  if (typeof given !== "object" || given === null || !("value" in given)) return given;
  if (!Array.isArray(given.value)) return given;
  return { ...given, value: given.value.map(plainFile) };
}

function plainFile(part: unknown): unknown {
  if (typeof part !== "object" || part === null || !("data" in part)) return part;
  // Only the session sets the blob of a file.
  const file = { ...part, blob: undefined };
  const { data } = part;
  if (typeof data !== "object" || data === null || !("data" in data)) return file;
  return { ...file, data: { ...data, data: asText(data.data) } };
}

function asText(data: unknown): unknown {
  if (data instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(data));
  return data instanceof Uint8Array ? convertUint8ArrayToBase64(data) : data;
}

/**
 * Applies the tool's schema to a recorded input (dates, defaults), for calls that run after a restart.
 * The record holds the schema's output. If the schema does not accept that as input, it is passed as it is.
 */
export async function inputFromRecord(
  tool: Pick<AnyTool, "inputSchema">,
  recorded: JsonValue,
): Promise<unknown> {
  // A copy: not every schema makes one, and a tool may change its input.
  const value = ownCopy(recorded);
  const validated = await safeValidateTypes({ value, schema: tool.inputSchema });
  return validated.success ? validated.value : value;
}

/** Moves the media of an outcome into blobs, even those of a failure. Undefined if there are none. */
export function offloadedExecution(
  blobs: Pick<SessionBlobs, "answer">,
  execution: Ended,
): Promise<Offloaded<Ended>> | undefined {
  switch (execution.kind) {
    case "succeeded":
      return blobs
        .answer(execution)
        ?.then((offloaded) => ({ ...offloaded, content: { ...execution, ...offloaded.content } }));
    case "failed": {
      const { error, modelOutput } = execution;
      if (modelOutput === undefined) return undefined;
      // The error too contains the result that the model is shown.
      return blobs.answer({ output: error, modelOutput })?.then((offloaded) => {
        const { output, modelOutput: shown } = offloaded.content;
        return {
          ...offloaded,
          content: { ...execution, error: storedErrorSchema.parse(output), modelOutput: shown },
        };
      });
    }
  }
}

// Observes one run of a tool, for lifecycle callbacks and telemetry.

export interface ToolSetup {
  readonly agent: Agent;
  readonly call: CallPart;
  /** The output of the tool's input schema. */
  readonly input: unknown;
  readonly messages: readonly ModelMessage[];
  readonly context: Required<TurnContext>;
  readonly toolContext: unknown;
  readonly signal: AbortSignal;
}

export type ToolOutcome =
  | { readonly kind: "succeeded"; readonly output: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

export interface ToolObserver {
  /** Runs the tool in the contexts of telemetry. */
  run<Value>(work: () => PromiseLike<Value>): PromiseLike<Value>;
  /** Called with the tool's own output or error, before their conversion to JSON. */
  answered(outcome: ToolOutcome): void;
}

// The identity of a tool call, for the tool's `execute`.

/** The identity of a call; see {@link callIdentity}. */
export interface CallIdentity {
  readonly session: string;
  readonly step: number;
  /** From 1; higher if the call runs again after a restart. */
  readonly attempt: number;
  /** The same for every attempt at this call, also after restarts: use it as an idempotency key. */
  readonly effectId: string;
}

const optionsSchema = z.object({
  turnlog: z.object({
    session: z.string(),
    step: z.int(),
    attempt: z.int(),
    effectId: z.string(),
  }),
});

/**
 * The identity of the running call, from the second argument of a tool's `execute`.
 * @throws TurnlogError `INVALID_INPUT` if turnlog did not run the tool
 * @example
 * const buy = tool({
 *   inputSchema: z.object({ item: z.string() }),
 *   execute: async (order, options) => pay(order, { idempotencyKey: callIdentity(options).effectId }),
 * });
 */
export function callIdentity(options: unknown): CallIdentity {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data.turnlog;
  throw new TurnlogError(
    "INVALID_INPUT",
    "These are not the options that turnlog gives to a tool's `execute`: pass on its second argument unchanged.",
    { cause: parsed.error },
  );
}

// A call of `agentTool`: which session runs it, and how the runner asks for that. The ids follow from the call's
// effect id, so that the session is created once and its message accepted once.

/** The session that runs a call. */
export interface Delegation {
  /** The id of the sub-agent's session. */
  readonly child: string;
  readonly parent: ParentCall;
  /** The id of the message with the task. */
  readonly messageId: string;
}

/** Runs a call in its session: creates or resumes it, sends the task once, and waits for its turn. */
export type Delegate = (
  delegation: Delegation,
  input: unknown,
  signal: AbortSignal,
) => Promise<JsonValue>;

/** Undefined for a tool that runs without a sub-agent. */
export function delegationOf(
  tool: AnyTool,
  { callId, toolName }: CallPart,
  step: number,
  recorder: Pick<SessionRecorder, "session" | "state">,
): Delegation | undefined {
  if (agentToolOptions(tool) === undefined) return undefined;
  const { state } = recorder;
  const open = state.toolCalls.open.find((call) => call.callId === callId);
  // A fork that continues the call joins the session of its origin.
  const session = open?.origin ?? recorder.session;
  const messageId = effectIdOf(recorder, step, callId);
  const digest = hash("sha256", messageId).slice(0, 8);
  const depth = ((state.summary.parent ?? state.summary.agentFrom)?.depth ?? 0) + 1;
  return {
    child: `${session}/${segmentOf(toolName)}-${step}-${digest}`,
    parent: { session, step, callId, toolName, depth },
    messageId,
  };
}

/** Why the call may not have a session. */
export function delegationFault(
  tool: AnyTool,
  { child, parent }: Delegation,
): StoredError | undefined {
  const { maxDepth = DEFAULT_MAX_DEPTH } = agentToolOptions(tool) ?? {};
  const why =
    parent.depth > maxDepth
      ? `${maxDepth} agents may run within each other (\`maxDepth\`)`
      : isSessionId(child)
        ? undefined
        : `with that of the call, the id of session ${parent.session} is too long for another session`;
  if (why === undefined) return undefined;
  const message = `The agent ${parent.toolName} was not called: ${why}. Do the task without it.`;
  return { name: "Error", message };
}
