/** How a tool call ends, put into words in the log. Pure. */

import type { EventBody, EventMap } from "../../events/index.ts";
import type { SessionContext } from "../../machines/index.ts";
import type { Execution } from "./tool-execution.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/** The end of a call that was run. */
export function executed(key: CallKey, execution: Execution, context: SessionContext): EventBody {
  switch (execution.kind) {
    case "succeeded": {
      const { output, modelOutput } = execution;
      const shown = modelOutput === undefined ? {} : { modelOutput };
      return { type: "tool.succeeded", data: { ...key, output, ...shown } };
    }
    case "failed": {
      const { error, modelOutput } = execution;
      const shown = modelOutput === undefined ? {} : { modelOutput };
      return { type: "tool.failed", data: { ...key, error, ...shown } };
    }
    case "unknown": {
      const reason = isOutOfTime(context) ? "timed-out" : execution.reason;
      return { type: "tool.unknown", data: { ...key, reason } };
    }
  }
}

/** The end of a call that a person did not allow. */
export function denied(key: CallKey, reason: string | undefined): EventBody {
  return { type: "tool.denied", data: { ...key, ...(reason === undefined ? {} : { reason }) } };
}

/** The end of a call that was never started, since its turn stops. */
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

/** The turn's time is up, whether or not a step is granted to conclude in. */
function isOutOfTime({ stopping, lastStep }: SessionContext): boolean {
  return (stopping ?? lastStep?.reason) === "timed-out";
}
