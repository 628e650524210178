/** Answers approvals as tests name them: by the call that waits, or by the position of the question. */

import type { ApprovalAnswer, ApprovalRecorded } from "../../src/commands/index.ts";
import type { Session } from "../../src/public/index.ts";

/** Lets the call of that id run which was asked about last. */
export async function allow(
  session: Session,
  callId: string,
  answer: ApprovalAnswer = {},
): Promise<ApprovalRecorded> {
  return await session.approve(await idOfCall(session, callId), answer);
}

/** Refuses the call of that id which was asked about last. */
export async function refuse(
  session: Session,
  callId: string,
  answer: ApprovalAnswer = {},
): Promise<ApprovalRecorded> {
  return await session.deny(await idOfCall(session, callId), answer);
}

/** The approval that was asked for at a position. */
export async function idOfQuestion(session: Session, position: number): Promise<string> {
  const { approvals } = await session.view();
  return found(
    approvals.find((one) => one.position === position),
    `at position ${position}`,
  );
}

/** The approval that was asked for last about a call. */
export async function idOfCall(session: Session, callId: string): Promise<string> {
  const { approvals } = await session.view();
  return found(
    approvals.findLast((one) => one.callId === callId),
    `about call ${callId}`,
  );
}

function found(approval: { readonly approvalId: string } | undefined, where: string): string {
  if (approval === undefined) throw new Error(`Nobody was asked ${where}.`);
  return approval.approvalId;
}
