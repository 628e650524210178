/** The events that end a tool call: after a run, without one, and with a client's answer. */

import { type EventBody, type EventMap, byId, ownCopy, TurnlogError } from "../../events/index.ts";
import type { SessionContext } from "../../machines/index.ts";
import type { CallPart } from "../../projections/index.ts";
import {
  type Ended,
  type Execution,
  inputFromRecord,
  modelOutput,
  offloadedExecution,
  type AnyTool,
} from "./tool-execution.ts";
import { safeValidateTypes } from "@ai-sdk/provider-utils";
import type { Agent } from "../../agent/index.ts";
import type { CallAnswer } from "../../commands/index.ts";
import type { Offloaded, SessionBlobs } from "../../media/index.ts";
import type { RequestedCall } from "../../state/index.ts";
import { toJson, withFullStop } from "../../shared/index.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/** The event at the end of an attempt: a question makes the call wait, unless its turn stops. */
export function executed(
  { toolName, ...key }: CallKey & { readonly toolName: string },
  execution: Execution,
  context: SessionContext,
): EventBody {
  if (execution.kind === "asked") {
    if (context.skipCalls || context.stopping !== undefined) return unfinished(key, context);
    const { question, state } = execution;
    const data = { ...key, toolName, question, ...(state === undefined ? {} : { state }) };
    return { type: "tool.approval-requested", data };
  }
  if (execution.kind !== "unknown") return endedBody(key, execution);
  const reason = isOutOfTime(context) ? "timed-out" : execution.reason;
  return { type: "tool.unknown", data: { ...key, reason } };
}

/** The event of a known outcome; `by` is the client that ran the tool. */
function endedBody(
  key: CallKey & { readonly by?: string },
  ended: Ended,
): EventBody<"tool.succeeded" | "tool.failed"> {
  const { modelOutput } = ended;
  const shown = modelOutput === undefined ? {} : { modelOutput };
  return ended.kind === "succeeded"
    ? { type: "tool.succeeded", data: { ...key, output: ended.output, ...shown } }
    : { type: "tool.failed", data: { ...key, error: ended.error, ...shown } };
}

export function denied(key: CallKey, reason: string | undefined): EventBody {
  return { type: "tool.denied", data: { ...key, ...(reason === undefined ? {} : { reason }) } };
}

/** The reason of a person's answer that denied the call. */
export function denialReason({ outcome }: CallPart): string | undefined {
  return outcome.status === "refused" ? outcome.reason : undefined;
}

/** The end of a call that waited for an answer in the middle of its work, because its turn stops. */
export function unfinished(key: CallKey, context: SessionContext): EventBody {
  const reason = skipReason(context);
  const stopped = reason === "interrupted" ? "cancelled" : reason;
  return { type: "tool.unknown", data: { ...key, reason: stopped } };
}

/** The end of a call that never started, because its turn stops. */
export function skipped(key: CallKey, context: SessionContext): EventBody {
  return { type: "tool.skipped", data: { ...key, reason: skipReason(context) } };
}

function skipReason(context: SessionContext): EventMap["tool.skipped"]["reason"] {
  if (isOutOfTime(context)) return "timed-out";
  switch (context.stopping) {
    case "cancelled":
      return "cancelled";
    case "interrupted":
      return "recovered";
    default:
      return "interrupted";
  }
}

/** The turn's time is up, with or without a last step. */
function isOutOfTime({ stopping, lastStep }: SessionContext): boolean {
  return (stopping ?? lastStep?.reason) === "timed-out";
}

// The outcome of a call that a client runs: its answer by the tool's `outputSchema` and `toModelOutput`.

type Answering = EventBody<"tool.succeeded" | "tool.failed">;

interface AnsweredSession {
  readonly agent: Agent;
  readonly blobs: Pick<SessionBlobs, "answer">;
}

/**
 * The event that ends a call with a client's answer. Its media are held until it is disposed.
 * @throws TurnlogError `INVALID_INPUT` if the tool's `outputSchema` does not accept the output
 */
export async function clientEnding(
  { agent, blobs }: AnsweredSession,
  { call, request: { step, callId } }: RequestedCall,
  answer: CallAnswer,
): Promise<Offloaded<Answering>> {
  const tool = byId(agent.tools ?? {}, call.toolName);
  const execution = await clientExecution(tool, call, answer);
  const offloading = offloadedExecution(blobs, execution);
  const offloaded = offloading && (await offloading);
  const by = answer.by === undefined ? {} : { by: answer.by };
  return {
    content: endedBody({ step, callId, ...by }, offloaded?.content ?? execution),
    stored: offloaded?.stored ?? [],
    [Symbol.dispose]: () => offloaded?.[Symbol.dispose](),
  };
}

/**
 * @param tool - Undefined if the agent no longer has it: then the output is recorded as it is.
 * @throws TurnlogError `INVALID_INPUT` if the tool's `outputSchema` does not accept the output
 */
async function clientExecution(
  tool: AnyTool | undefined,
  call: CallPart,
  answer: CallAnswer,
): Promise<Ended> {
  if (answer.error !== undefined)
    return { kind: "failed", error: { name: "Error", message: answer.error } };
  const given = ownCopy(answer.output);
  if (tool === undefined)
    return { kind: "succeeded", output: toJson(given), modelOutput: undefined };
  const output = await validOutput(tool, call, given);
  const json = toJson(output);
  const input = await inputFromRecord(tool, call.input);
  return {
    kind: "succeeded",
    output: json,
    modelOutput: await modelOutput({ tool, call, input }, output, json),
  };
}

async function validOutput(
  { outputSchema }: AnyTool,
  { toolName }: CallPart,
  value: unknown,
): Promise<unknown> {
  if (outputSchema === undefined) return value;
  const validated = await safeValidateTypes({ value, schema: outputSchema });
  if (validated.success) return validated.value;
  const why = withFullStop(validated.error.message);
  throw new TurnlogError(
    "INVALID_INPUT",
    `The output does not fit the \`outputSchema\` of the tool ${toolName}, and nothing was recorded: the call still waits. ${why}`,
    { cause: validated.error, details: { toolName } },
  );
}
