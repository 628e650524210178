/** A person's answer about a call that waits for approval, put into the log. */

import { byId, type EventBody } from "../events/index.ts";
import type { SessionState } from "./session-state.ts";

/** What is said beside yes or no. */
export interface ApprovalAnswer {
  readonly reason?: string;
  /** Holds for every later call of the same tool in this session, and for those that wait now. */
  readonly always?: boolean;
}

/** The event of an answer; undefined when the call does not wait for one. */
export function answerEvent(
  { machine }: SessionState,
  callId: string,
  approved: boolean,
  { reason, always = false }: ApprovalAnswer,
): EventBody | undefined {
  const { step, calls } = machine.context;
  if (byId(calls, callId) !== "awaiting-approval") return undefined;
  return {
    type: "tool.approval-answered",
    data: {
      step,
      callId,
      approved,
      ...(reason === undefined ? {} : { reason }),
      ...(always ? { always } : {}),
    },
  };
}
