/** How a tool call ends, put into words in the log. Pure. */

import type { EventBody } from "../events/index.ts";
import type { SessionContext } from "../machines/index.ts";
import { toStoredError } from "./json-value.ts";
import type { Execution } from "./tool-execution.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/** The end of a call that was run. */
export function executed(key: CallKey, execution: Execution): EventBody {
  switch (execution.kind) {
    case "succeeded": {
      const { output, modelOutput } = execution;
      const shown = modelOutput === undefined ? {} : { modelOutput };
      return { type: "tool.succeeded", data: { ...key, output, ...shown } };
    }
    case "failed":
      return { type: "tool.failed", data: { ...key, error: toStoredError(execution.error) } };
    case "unknown":
      return { type: "tool.unknown", data: { ...key, reason: execution.reason } };
  }
}

/** The end of a call that a person did not allow. */
export function denied(key: CallKey, reason: string | undefined): EventBody {
  return { type: "tool.denied", data: { ...key, ...(reason === undefined ? {} : { reason }) } };
}

/** The end of a call that was never started, since its turn stops. */
export function skipped(key: CallKey, { stopping }: SessionContext): EventBody {
  const reason =
    stopping === "cancelled"
      ? "cancelled"
      : stopping === "interrupted"
        ? "recovered"
        : "interrupted";
  return { type: "tool.skipped", data: { ...key, reason } };
}
