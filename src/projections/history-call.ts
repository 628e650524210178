/** Writes what becomes of a tool call into the step that made it: its outcome, and the answers of people. */

import type { SessionEvent } from "../events/index.ts";
import type {
  ApprovalDecision,
  CallApproval,
  CallOutcome,
  CallPart,
  HistoryState,
  StepItem,
} from "./history-item.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/** The end of a call, or the next thing that it does. */
type Ending = Pick<SessionEvent, "position"> & { readonly data: CallKey };

/** A call that goes on or ends. A question about it that is still open can no longer be answered. */
export function withOutcome(
  state: HistoryState,
  { position, data }: Ending,
  outcome: CallOutcome,
): HistoryState {
  return withStep(state, data.step, (step) =>
    withCall(step, data, (call) => ({ ...lapsed(call, position), outcome })),
  );
}

/** A call that a person is asked about. */
export function withQuestion(
  state: HistoryState,
  { position, time: at, data }: SessionEvent<"tool.approval-requested">,
): HistoryState {
  const reason = data.reason === undefined ? {} : { reason: data.reason };
  return withStep(state, data.step, (step) =>
    withCall(step, data, (call) => {
      const before = lapsed(call, position);
      const { approvals = [] } = before;
      const asked: CallApproval = {
        attempt: approvals.length + 1,
        ...reason,
        ...(call.outcome.status === "running" ? { again: true } : {}),
        position,
        askedAt: at,
      };
      return {
        ...before,
        outcome: { status: "awaiting-approval", ...reason },
        approvals: [...approvals, asked],
      };
    }),
  );
}

/**
 * The answer about a call. One that holds for every later call of the tool answers the questions that
 * are open about others of the step, too; but not whether one that had been started runs again.
 */
export function withAnswer(
  state: HistoryState,
  { position, time: at, data }: SessionEvent<"tool.approval-answered">,
): HistoryState {
  const { approved, reason, always, by } = data;
  const told = reason === undefined ? {} : { reason };
  const answer: ApprovalDecision = {
    approved,
    ...told,
    ...(always === undefined ? {} : { always }),
    ...(by === undefined ? {} : { by }),
    position,
    answeredAt: at,
  };
  return withStep(state, data.step, (step) => {
    const asked = step.parts.find(
      (part): part is CallPart => part.kind === "call" && part.callId === data.callId,
    );
    const answered = withCall(step, data, (call) => ({
      ...withOpenQuestion(call, (question) => ({ ...question, answer })),
      outcome: approved ? { status: "approved" } : { status: "refused", ...told },
    }));
    if (always !== true) return answered;
    return withCalls(answered, asked?.toolName, (call) =>
      withOpenQuestion(call, (question) =>
        question.again === true ? question : { ...question, answer },
      ),
    );
  });
}

function lapsed(call: CallPart, position: number): CallPart {
  return withOpenQuestion(call, (question) => ({ ...question, lapsed: position }));
}

/** Changes the question about a call that nobody has answered, where there is one. */
function withOpenQuestion(
  call: CallPart,
  change: (question: CallApproval) => CallApproval,
): CallPart {
  const { approvals } = call;
  const last = approvals?.at(-1);
  if (approvals === undefined || last === undefined || !isOpen(last)) return call;
  return { ...call, approvals: [...approvals.slice(0, -1), change(last)] };
}

function isOpen({ answer, lapsed: end }: CallApproval): boolean {
  return answer === undefined && end === undefined;
}

/** Every part is looked at, at every event: nothing is made for those that stay. */
function withCall(
  step: StepItem,
  { callId }: CallKey,
  change: (call: CallPart) => CallPart,
): StepItem {
  const parts = [...step.parts];
  // Backwards and by index: an iterator costs more than the look.
  for (let index = parts.length - 1; index >= 0; index--) {
    const part = parts[index];
    if (part?.kind === "call" && part.callId === callId) parts[index] = change(part);
  }
  return { ...step, parts };
}

function withCalls(
  step: StepItem,
  toolName: string | undefined,
  change: (call: CallPart) => CallPart,
): StepItem {
  const parts = step.parts.map((part) =>
    part.kind === "call" && part.toolName === toolName ? change(part) : part,
  );
  return { ...step, parts };
}

/** Calls end while their step is open; a step that is over is looked up from the end. */
function withStep(
  state: HistoryState,
  number: number,
  change: (step: StepItem) => StepItem,
): HistoryState {
  if (state.open?.step === number) return { ...state, open: change(state.open) };
  const index = state.items.findLastIndex((item) => item.kind === "step" && item.step === number);
  const item = state.items[index];
  if (item?.kind !== "step") return state;
  return { ...state, items: state.items.with(index, change(item)) };
}
