/**
 * The approvals of a session as people and programs see them: each with an id that is never used twice.
 * The id is derived from the log, so that logs of every release have it, and a fork or an import has its own. Pure.
 */

import type { JsonValue } from "../events/index.ts";
import type {
  ApprovalDecision,
  CallApproval,
  CallPart,
  HistoryItem,
  StepItem,
} from "../projections/index.ts";
import { isAwaited } from "./recovery.ts";
import type { SessionState } from "./session-state.ts";

/** What an approval is about. */
interface ApprovalRequest {
  /**
   * What it is answered by: made of session, turn, step, call and attempt. No other approval has it,
   * in whatever session: a provider may use a call id again.
   */
  readonly approvalId: string;
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  /** How often the call has been asked about, counted from 1. */
  readonly attempt: number;
  readonly toolName: string;
  /** As the model wrote it. */
  readonly input: JsonValue;
  /** Why it is asked, where that was said. */
  readonly reason?: string;
  /** The call had been started before: the question is whether it runs again. */
  readonly again?: true;
  /** The position of the question. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly askedAt: number;
}

/** A question whether a call may run, and what came of it. It stays after the call has ended. */
export type Approval = ApprovalRequest &
  (
    | { readonly status: "waiting" }
    | { readonly status: "approved" | "denied"; readonly answer: ApprovalDecision }
    /** Nobody answered while the call waited: its turn was stopped, say. */
    | { readonly status: "lapsed" }
  );

/** All approvals of a session, oldest first. */
export function sessionApprovals(session: string, state: SessionState): readonly Approval[] {
  return [...newestFirst(session, state)].toReversed();
}

/** Those that wait for an answer, oldest first. */
export function waitingApprovals(session: string, state: SessionState): readonly Approval[] {
  const { open } = state.history;
  if (open === undefined) return [];
  return approvalsOf(open, session, state).filter(({ status }) => status === "waiting");
}

/** The approval of an id; undefined where the session never had it. */
export function approvalOfId(
  session: string,
  state: SessionState,
  approvalId: string,
): Approval | undefined {
  for (const approval of newestFirst(session, state)) {
    if (approval.approvalId === approvalId) return approval;
  }
  return undefined;
}

function* newestFirst(session: string, state: SessionState): Generator<Approval> {
  const { items, open } = state.history;
  if (open !== undefined) yield* approvalsOf(open, session, state).toReversed();
  for (let index = items.length - 1; index >= 0; index--) {
    const item: HistoryItem | undefined = items[index];
    if (item?.kind === "step") yield* approvalsOf(item, session, state).toReversed();
  }
}

function approvalsOf(step: StepItem, session: string, state: SessionState): readonly Approval[] {
  return step.parts.flatMap((part) =>
    part.kind === "call" && part.approvals !== undefined
      ? part.approvals.map((question) => approvalOf(question, part, step, session, state))
      : [],
  );
}

function approvalOf(
  { answer, lapsed, ...question }: CallApproval,
  { callId, toolName, input }: CallPart,
  { turn, step }: StepItem,
  session: string,
  state: SessionState,
): Approval {
  const settled = answer?.position ?? lapsed;
  const place = { turn, step, callId, attempt: question.attempt };
  const owner = settled === undefined ? session : ownerOf(settled, session, state);
  const about: ApprovalRequest = {
    approvalId: approvalIdOf(owner, place),
    ...place,
    ...question,
    toolName,
    input,
  };
  if (answer !== undefined) {
    return { ...about, status: answer.approved ? "approved" : "denied", answer };
  }
  const isWaiting = lapsed === undefined && step === state.machine.context.step;
  return { ...about, status: isWaiting && isAwaited(state, callId) ? "waiting" : "lapsed" };
}

/** The session that wrote an event. A fork is asked anew what it inherits unanswered. */
function ownerOf(position: number, session: string, { approvals }: SessionState): string {
  return approvals.lineage.find((shared) => position <= shared.position)?.session ?? session;
}

interface Place {
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly attempt: number;
}

/** In characters that URLs, shells and file names leave as they are. A session's name has no `~`. */
function approvalIdOf(session: string, { turn, step, callId, attempt }: Place): string {
  return [session, turn, step, escaped(callId), attempt].join("~");
}

/** No two texts become the same. */
function escaped(callId: string): string {
  return callId.replaceAll(
    /[^\w.:@-]/g,
    (unit) => `=${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
