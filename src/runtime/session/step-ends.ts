/** The events at the end of a step that no model has ended, from the session's state. Pure. */

import { estimateSpent } from "../../context/index.ts";
import type { EventBody, StoredError } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";

export function stepFailed(
  { machine, usage: spent, history }: SessionState,
  error: StoredError,
): EventBody {
  const usage = estimateSpent(spent, history);
  const { step } = machine.context;
  return { type: "step.failed", data: { step, kind: "unknown", error, usage } };
}

export function stepCancelled({ machine, usage: spent, history }: SessionState): EventBody {
  const usage = estimateSpent(spent, history);
  const { step } = machine.context;
  return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
}
