/** The events that end a tool call. Pure. */

import type { EventBody, EventMap } from "../../events/index.ts";
import type { SessionContext } from "../../machines/index.ts";
import type { CallPart } from "../../projections/index.ts";
import type { Ended, Execution } from "./tool-execution.ts";

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
export function endedBody(
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
