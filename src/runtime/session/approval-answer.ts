/** A person's answer to an approval, put into the log: once, whoever says it how often. Pure. */

import { TurnlogError, type EventBody } from "../../events/index.ts";
import type { ApprovalDecision } from "../../projections/index.ts";
import { waitingApprovals, type Approval, type SessionState } from "../../state/index.ts";

/** What is said beside yes or no. */
export interface ApprovalAnswer {
  readonly reason?: string;
  /** Holds for every later call of the same tool in this session, and for those that wait now. */
  readonly always?: boolean;
  /** Who answers: recorded with the answer. */
  readonly by?: string;
}

/** What came of an answer. */
export interface ApprovalRecorded {
  /** `already-answered`: the same had been answered before, and nothing was done. */
  readonly status: "recorded" | "already-answered";
  /** With the answer that holds. */
  readonly approval: Approval;
}

/** The event of an answer to an approval that waits. */
export function answerEvent(
  { step, callId }: Approval,
  approved: boolean,
  { reason, always = false, by }: ApprovalAnswer,
): EventBody<"tool.approval-answered"> {
  return {
    type: "tool.approval-answered",
    data: {
      step,
      callId,
      approved,
      ...(reason === undefined ? {} : { reason }),
      ...(always ? { always } : {}),
      ...(by === undefined ? {} : { by }),
    },
  };
}

/** Whether all that an answer says was answered before, by whomever. */
export function addsNothing(
  decision: ApprovalDecision,
  approved: boolean,
  { reason, always = false }: ApprovalAnswer,
): boolean {
  return (
    decision.approved === approved &&
    (!always || decision.always === true) &&
    (reason === undefined || reason === decision.reason)
  );
}

/** Why another answer is refused. */
export function answeredOtherwise(
  session: string,
  { approvalId, toolName }: Approval,
  { approved, always, reason, by, position }: ApprovalDecision,
): TurnlogError {
  const who = by === undefined ? "" : ` by ${by}`;
  const how = `${approved ? "approved" : "denied"}${always === true ? " for good" : ""}`;
  const why = reason === undefined ? "" : `: ${JSON.stringify(reason)}`;
  return new TurnlogError(
    "APPROVAL_ANSWERED",
    `Approval ${approvalId} of session ${session} (${toolName}) was ${how}${who} at position ${position}${why}. An answer holds: what it allowed may have been done. Nothing was recorded.`,
    { session, position, details: { approvalId } },
  );
}

/** Why an id cannot be answered, and which can. */
export function notWaiting(
  session: string,
  state: SessionState,
  approvalId: string,
  found: Approval | undefined,
): string {
  const waiting = waitingApprovals(session, state);
  const told =
    waiting.length === 0
      ? "None waits here"
      : `These wait: ${waiting.map((one) => `${one.approvalId} (${one.toolName})`).join(", ")}`;
  const why =
    found === undefined
      ? `it has no approval ${JSON.stringify(approvalId)}. An approval is answered by its \`approvalId\`, which \`view().approvals\` has`
      : `the call of approval ${approvalId} (${found.toolName}) no longer waits, since it ended before an answer`;
  return `${why}. ${told}`;
}
