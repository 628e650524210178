/** The outcome of a call that a client runs: its answer by the tool's `outputSchema` and `toModelOutput`. */

import { safeValidateTypes } from "@ai-sdk/provider-utils";
import { byId, ownCopy, TurnlogError, type EventBody } from "../../events/index.ts";
import type { Agent } from "../../agent/index.ts";
import type { CallAnswer } from "../../commands/index.ts";
import type { Offloaded, SessionBlobs } from "../../media/index.ts";
import type { CallPart } from "../../projections/index.ts";
import type { RequestedCall } from "../../state/index.ts";
import { endedBody } from "./call-ending.ts";
import { toJson, withFullStop } from "../../shared/index.ts";
import {
  inputFromRecord,
  modelOutput,
  offloadedExecution,
  type AnyTool,
  type Ended,
} from "./tool-execution.ts";

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
