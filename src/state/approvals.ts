/**
 * What calls wait for: approvals by people, and outputs by clients, each with an id that is never used twice. The id is
 * derived from the log, so that logs of every release have it, and forks and imports have their own. Pure.
 */

import { askedId, type CallQuestion, type JsonValue } from "../events/index.ts";
import type { ApprovalDecision, CallApproval, CallPart, StepItem } from "../projections/index.ts";
import { isAwaited } from "./recovery.ts";
import type { SessionState } from "./session-state.ts";

interface ApprovalRequest {
  /**
   * Identifies the approval in `approve` and `deny`: made of session, turn, step, call and attempt, since
   * a provider may use a call id again. Unique in all sessions.
   */
  readonly approvalId: string;
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  /** The number of the question about this call, from 1. */
  readonly attempt: number;
  readonly toolName: string;
  /** The input as the model wrote it. */
  readonly input: JsonValue;
  readonly reason?: string;
  /** The call was started before: the question is whether it runs again. */
  readonly again?: true;
  /** What the running call asks: a login, the values of a form, or a visit to an address. */
  readonly question?: CallQuestion;
  /** The position of `tool.approval-requested`. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly askedAt: number;
}

/**
 * A question whether a call may run, with its answer. It stays after the call has ended.
 * @example
 * const { approvals } = await session.view();
 * console.log(approvals.filter(({ status }) => status === "waiting"));
 */
export type Approval = ApprovalRequest &
  (
    | { readonly status: "waiting" }
    | { readonly status: "approved" | "denied"; readonly answer: ApprovalDecision }
    /** The call ended before an answer, for instance because its turn was cancelled. */
    | { readonly status: "lapsed" }
  );

/** All approvals of a session, oldest first. */
export function sessionApprovals(session: string, state: SessionState): readonly Approval[] {
  return [...newestFirst(session, state)].toReversed();
}

/** The approvals that wait for an answer, oldest first. */
export function waitingApprovals(session: string, state: SessionState): readonly Approval[] {
  const { open } = state.history;
  if (open === undefined) return [];
  return approvalsOf(open, session, state).filter(({ status }) => status === "waiting");
}

/** The approval of an id; undefined if the session never had it. */
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
  for (const step of stepsNewestFirst(state)) {
    yield* approvalsOf(step, session, state).toReversed();
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
  { answer, lapsed, state: _kept, ...question }: CallApproval,
  { callId, toolName, input }: CallPart,
  { turn, step }: StepItem,
  session: string,
  state: SessionState,
): Approval {
  const settled = answer?.position ?? lapsed;
  const key = { turn, step, callId, attempt: question.attempt };
  const owner = settled === undefined ? session : ownerOf(settled, session, state);
  const about: ApprovalRequest = {
    approvalId: `${askedId(owner, key, callId)}~${question.attempt}`,
    ...key,
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

// What approvals and output requests have in common: where they are found, and whose they are. Pure.

/** The steps of all branches of a session that call tools, newest first. */
function* stepsNewestFirst({ history, boundaries }: SessionState): Generator<StepItem> {
  const { open } = history;
  const { items } = boundaries;
  if (open !== undefined) yield open;
  // Not a reversed copy: most readers stop after a few steps of a long history.
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item?.kind === "step" && item.parts.some(({ kind }) => kind === "call")) yield item;
  }
}

/** The session that recorded an event. A fork asks again what it inherits unanswered. */
function ownerOf(position: number, session: string, { approvals }: SessionState): string {
  return approvals.lineage.find((shared) => position <= shared.position)?.session ?? session;
}

// The calls that a client runs: calls of tools without `execute`, each with an id that is never used twice. The id
// is derived from the log, as that of an approval. Pure.

/** A call whose output a client gives by `answerCall`. It stays after the call has ended. */
export interface OutputRequest {
  /** Identifies the call in `answerCall`: made of session, turn, step and call. Unique in all sessions. */
  readonly requestId: string;
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  /** The input as the model wrote it. */
  readonly input: JsonValue;
  /** The position of `tool.output-requested`. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly requestedAt: number;
  /** `lapsed`: the call ended before an answer, for instance because its turn was cancelled. */
  readonly status: "waiting" | "answered" | "lapsed";
  /** The position and the time (epoch milliseconds) of the answer, and who gave it. */
  readonly answered?: { readonly position: number; readonly time: number; readonly by?: string };
}

export interface RequestedCall {
  readonly request: OutputRequest;
  readonly call: CallPart;
}

/** All requests of a session, oldest first. */
export function outputRequests(session: string, state: SessionState): readonly OutputRequest[] {
  return [...requestsNewestFirst(session, state)].map(({ request }) => request).toReversed();
}

/** The requests that wait for an answer, oldest first. */
export function waitingOutputs(session: string, state: SessionState): readonly OutputRequest[] {
  const { open } = state.history;
  if (open === undefined) return [];
  return requestsOf(open, session, state).flatMap(({ request }) =>
    request.status === "waiting" ? [request] : [],
  );
}

/** The requests of an id: one by its `requestId`, or each call that the provider gave that call id. */
export function requestedCalls(
  session: string,
  state: SessionState,
  id: string,
): readonly RequestedCall[] {
  const found: RequestedCall[] = [];
  for (const one of requestsNewestFirst(session, state)) {
    if (one.request.requestId === id) return [one];
    if (one.request.callId === id) found.push(one);
  }
  return found;
}

function* requestsNewestFirst(session: string, state: SessionState): Generator<RequestedCall> {
  for (const step of stepsNewestFirst(state)) {
    yield* requestsOf(step, session, state).toReversed();
  }
}

function requestsOf(
  step: StepItem,
  session: string,
  state: SessionState,
): readonly RequestedCall[] {
  return step.parts.flatMap((call): readonly RequestedCall[] => {
    if (call.kind !== "call" || call.outputRequest === undefined) return [];
    const { callId, toolName, input, outcome } = call;
    const { settled, ...asked } = call.outputRequest;
    const owner = settled === undefined ? session : ownerOf(settled.position, session, state);
    const about = {
      requestId: askedId(owner, step, callId),
      turn: step.turn,
      step: step.step,
      callId,
      toolName,
      input,
      ...asked,
    };
    if (settled !== undefined && (outcome.status === "succeeded" || outcome.status === "failed")) {
      const { at: time, ...answer } = settled;
      return [{ request: { ...about, status: "answered", answered: { ...answer, time } }, call }];
    }
    const waits = step.step === state.machine.context.step && isAwaited(state, callId);
    const status = settled === undefined && waits ? "waiting" : "lapsed";
    return [{ request: { ...about, status }, call }];
  });
}
