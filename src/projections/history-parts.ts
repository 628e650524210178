/** Writes what becomes of a tool call into the step that made it: its outcome, and the answers of people. */

import {
  type SessionEvent,
  REDACTED,
  sendableMetadata,
  type ProviderMetadata,
  sendableOutput,
} from "../events/index.ts";
import type {
  ApprovalDecision,
  CallApproval,
  CallOutcome,
  CallPart,
  HistoryState,
  StepItem,
  BlockPart,
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

interface BlockData {
  readonly id: string;
  readonly providerMetadata?: ProviderMetadata;
  /** What it said was taken out of the log. */
  readonly dropped?: true;
  /** What it said is gone. */
  readonly redacted?: boolean;
}

type BlockKind = BlockPart["kind"];

export function withBlockStart(step: StepItem, kind: BlockKind, data: BlockData): StepItem {
  return {
    ...step,
    parts: [...step.parts, { kind, id: data.id, text: "", open: true, ...metadata(data) }],
  };
}

/** A delta of a block that never started begins it: some providers leave the start out. */
export function withBlockDelta(
  step: StepItem,
  kind: BlockKind,
  data: BlockData & { readonly text: string },
): StepItem {
  return change(step, kind, data, (block) => ({
    ...block,
    text: withText(block, data, data.text),
    ...metadata(data),
  }));
}

export function withBlockEnd(step: StepItem, kind: BlockKind, data: BlockData): StepItem {
  return change(step, kind, data, (block) => ({
    ...block,
    text: withText(block, data, ""),
    open: false,
    ...metadata(data),
  }));
}

/** However many of its events were redacted, a block says so once. */
function withText(block: BlockPart, { redacted }: BlockData, text: string): string {
  return redacted === true && block.text === "" ? REDACTED : block.text + text;
}

/** The newest metadata of a block replaces what came before, as in the AI SDK. */
function metadata({ providerMetadata, dropped }: BlockData): Omit<BlockData, "id"> {
  return {
    ...(providerMetadata === undefined
      ? {}
      : { providerMetadata: sendableMetadata(providerMetadata) }),
    ...(dropped === undefined ? {} : { dropped }),
  };
}

function change(
  step: StepItem,
  kind: BlockKind,
  data: BlockData,
  to: (block: BlockPart) => BlockPart,
): StepItem {
  for (let index = step.parts.length - 1; index >= 0; index--) {
    const part = step.parts[index];
    if (part !== undefined && part.kind === kind && part.id === data.id && part.open) {
      return { ...step, parts: step.parts.with(index, to(part)) };
    }
  }
  return change(withBlockStart(step, kind, data), kind, data, to);
}

const positions = new WeakMap<CallOutcome, number>();

/** The outcome that a result makes; knows from then on where it stands. */
export function succeeded({
  position,
  data,
}: Pick<SessionEvent<"tool.succeeded">, "position" | "data">): CallOutcome {
  const { output, modelOutput } = data;
  const outcome: CallOutcome =
    modelOutput === undefined
      ? { status: "succeeded", output }
      : { status: "succeeded", output, modelOutput: sendableOutput(modelOutput) };
  positions.set(outcome, position);
  return outcome;
}

/** The position of the event that an outcome was made of; undefined where it was made of something else. */
export function resultPosition(outcome: CallOutcome): number | undefined {
  return positions.get(outcome);
}
