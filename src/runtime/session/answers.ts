/** Decides on an answer to an approval: its event, nothing for the same answer again, or a refusal. Pure. */

import { TurnlogError, type EventBody } from "../../events/index.ts";
import { activeSpans, isWithin, type ApprovalDecision } from "../../projections/index.ts";
import {
  approvalOfId,
  waitingApprovals,
  type Approval,
  requestedCalls,
  waitingOutputs,
  type OutputRequest,
  type RequestedCall,
} from "../../state/index.ts";
import { refusal, type CommandTarget } from "./commands.ts";
import { isDeepStrictEqual } from "node:util";

/** Details of an answer. */
export interface ApprovalAnswer {
  readonly reason?: string;
  /** Applies to every later call of the same tool in this session, and to those that wait now. */
  readonly always?: boolean;
  /** Who answers: recorded with the answer. */
  readonly by?: string;
}

/** The outcome of an answer. */
export interface ApprovalRecorded {
  /** `already-answered`: the same answer was recorded before, and nothing changed. */
  readonly status: "recorded" | "already-answered";
  readonly approval: Approval;
}

type Answered = Extract<Approval, { readonly answer: unknown }>;

export function isAnswered(approval: Approval | undefined): approval is Answered {
  return approval !== undefined && "answer" in approval;
}

/** A decided answer. Without an event if the approval has the same answer already. */
interface AnswerDecision {
  readonly approval: Approval;
  readonly event?: EventBody<"tool.approval-answered">;
}

/** @throws TurnlogError `APPROVAL_ANSWERED`, `COMMAND_REFUSED` */
export function answerApproval(
  target: CommandTarget,
  approvalId: string,
  approved: boolean,
  answer: ApprovalAnswer,
): AnswerDecision {
  const { session, state } = target;
  const approval = approvalOfId(session, state, approvalId);
  if (isAnswered(approval)) {
    if (isSameAnswer(approval.answer, approved, answer)) return { approval };
    throw answeredOtherwise(session, approval);
  }
  if (approval?.status !== "waiting") {
    const why = notWaiting(target, approvalId, approval);
    throw refusal(target, approved ? "approve" : "deny", why);
  }
  const { step, callId } = approval;
  const { reason, always = false, by } = answer;
  const data = {
    step,
    callId,
    approved,
    ...(reason === undefined ? {} : { reason }),
    ...(always ? { always } : {}),
    ...(by === undefined ? {} : { by }),
  };
  return { approval, event: { type: "tool.approval-answered", data } };
}

/** The person (`by`) may be another one. */
function isSameAnswer(
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

function answeredOtherwise(
  session: string,
  { approvalId, toolName, answer }: Answered,
): TurnlogError {
  const { approved, always, reason, by, position } = answer;
  const who = by === undefined ? "" : ` by ${by}`;
  const how = `${approved ? "approved" : "denied"}${always === true ? " permanently" : ""}`;
  const why = reason === undefined ? "" : `: ${JSON.stringify(reason)}`;
  return new TurnlogError(
    "APPROVAL_ANSWERED",
    `Approval ${approvalId} of session ${session} (${toolName}) was ${how}${who} at position ${position}${why}. An answer is final, since the call may already have run. Nothing was recorded.`,
    { session, position, details: { approvalId } },
  );
}

/** Why an approval cannot be answered, and which ones can. */
function notWaiting(
  { session, state }: CommandTarget,
  approvalId: string,
  found: Approval | undefined,
): string {
  const waiting = waitingApprovals(session, state);
  const others =
    waiting.length === 0
      ? "None waits here"
      : `These wait: ${waiting.map((one) => `${one.approvalId} (${one.toolName})`).join(", ")}`;
  const why =
    found === undefined
      ? `it has no approval ${JSON.stringify(approvalId)}. An approval is answered by its \`approvalId\`, which \`view().approvals\` has`
      : `the call of approval ${approvalId} (${found.toolName}) no longer waits, since ${isLeft(state, found) ? "its branch was left by a rewind" : "it ended before an answer"}`;
  return `${why}. ${others}`;
}

function isLeft({ branches }: CommandTarget["state"], { position }: Approval): boolean {
  return !isWithin(activeSpans(branches), position);
}

// Decides on a client's answer to a call: its end, nothing for the same answer again, or a refusal. Pure.

/** The outcome of {@link Session.answerCall}. */
export interface CallAnswered {
  /** `already-answered`: the same answer was recorded before, and nothing changed. */
  readonly status: "recorded" | "already-answered";
  readonly request: OutputRequest;
}

type Answering = EventBody<"tool.succeeded" | "tool.failed">;

/**
 * By the id of its request, or by a call id that no other request of the session has.
 * @throws TurnlogError `COMMAND_REFUSED` if there is none, if there are several, or if it lapsed
 */
export function callToAnswer(target: CommandTarget, id: string): RequestedCall {
  const { session, state } = target;
  const [found, another] = requestedCalls(session, state, id);
  if (found === undefined) {
    const why = `it has no output request ${JSON.stringify(id)}. A call is answered by the \`requestId\` that \`view().outputRequests\` has`;
    throw refusal(target, "answerCall", `${why}. ${waitingHere(target)}`);
  }
  if (another !== undefined) {
    const why = `the provider used the call id ${JSON.stringify(id)} for several calls. Answer by the \`requestId\``;
    throw refusal(target, "answerCall", `${why}. ${waitingHere(target)}`);
  }
  if (found.request.status === "lapsed") {
    const { requestId, toolName } = found.request;
    const why = `the call of request ${requestId} (${toolName}) ended before an answer`;
    throw refusal(target, "answerCall", `${why}. ${waitingHere(target)}`);
  }
  return found;
}

function waitingHere({ session, state }: CommandTarget): string {
  const waiting = waitingOutputs(session, state);
  if (waiting.length === 0) return "None waits here";
  return `These wait: ${waiting.map((one) => `${one.requestId} (${one.toolName})`).join(", ")}`;
}

/** Undefined if the call has the same answer already. @throws TurnlogError `CALL_ANSWERED` */
export function answerCall(
  { session }: CommandTarget,
  { request, call: { outcome } }: RequestedCall,
  answering: Answering,
): Answering | undefined {
  const { answered } = request;
  if (answered === undefined) return answering;
  const isSame =
    answering.type === "tool.succeeded"
      ? outcome.status === "succeeded" && isDeepStrictEqual(outcome.output, answering.data.output)
      : outcome.status === "failed" && outcome.error.message === answering.data.error.message;
  if (isSame) return undefined;
  const { requestId, toolName } = request;
  const how = outcome.status === "failed" ? "an error" : "another output";
  const who = answered.by === undefined ? "" : ` of ${answered.by}`;
  throw new TurnlogError(
    "CALL_ANSWERED",
    `Request ${requestId} of session ${session} (${toolName}) was answered by ${how}${who} at position ${answered.position}. An answer is final, since the model may have read it. Nothing was recorded.`,
    { session, position: answered.position, details: { requestId } },
  );
}
