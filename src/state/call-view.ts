/** Tool calls with what the model asked and what people answered, joined from two projections. Pure. */

import type { JsonValue } from "../events/index.ts";
import type {
  CallApproval,
  CallPart,
  HistoryState,
  StepItem,
  ToolCall,
} from "../projections/index.ts";

/** A call to a tool: its status, its input, why it ended as it did, and what people were asked. */
export interface DescribedCall extends ToolCall {
  /** The input as it was recorded. Absent if the call is on a branch that was left. */
  readonly input?: JsonValue;
  /** Why it was denied or skipped, failed, or why its outcome is unknown. */
  readonly reason?: string;
  /** All questions about the call with their answers, oldest first. Absent if there was none. */
  readonly approvals?: readonly CallApproval[];
}

export function describedCalls(
  calls: readonly ToolCall[],
  { items, open }: HistoryState,
): readonly DescribedCall[] {
  const steps = new Set(calls.map(({ step }) => step));
  const parts = new Map<string, CallPart>();
  const add = ({ step, parts: all }: StepItem): void => {
    for (const part of all) if (part.kind === "call") parts.set(`${step} ${part.callId}`, part);
  };
  for (const item of items) if (item.kind === "step" && steps.has(item.step)) add(item);
  if (open !== undefined) add(open);
  return calls.map((call) => {
    const part = parts.get(`${call.step} ${call.callId}`);
    return part === undefined ? call : described(call, part);
  });
}

function described(call: ToolCall, { input, outcome, approvals }: CallPart): DescribedCall {
  const reason =
    "reason" in outcome
      ? outcome.reason
      : outcome.status === "failed"
        ? outcome.error.message
        : undefined;
  return {
    ...call,
    input,
    ...(reason === undefined ? {} : { reason }),
    ...(approvals === undefined ? {} : { approvals }),
  };
}
