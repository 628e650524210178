/** Folds of the parts of a step: blocks grow, calls get outcomes and answers. Called by the history only. */

import {
  type SessionEvent,
  REDACTED,
  sendableMetadata,
  type ProviderMetadata,
  sendableOutput,
  defined,
} from "../events/index.ts";
import { callStatusAfter, statusAfter, type CallEvent } from "../folds/index.ts";
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

type Ending = Pick<SessionEvent, "position" | "time"> & {
  readonly data: CallKey & { readonly by?: string };
};

/** A call after an event that changes its status. */
export function withCallEvent(state: HistoryState, event: CallEvent): HistoryState {
  switch (event.type) {
    case "tool.approval-requested":
      return withQuestion(state, event);
    case "tool.approval-answered":
      return withAnswer(state, event);
    case "tool.output-requested":
      return withOutputRequest(state, event);
    case "tool.started":
      return withOutcome(state, event, { status: statusAfter[event.type] });
    case "tool.succeeded":
      return withOutcome(state, event, succeeded(event));
    case "tool.failed": {
      const { error, modelOutput } = event.data;
      const sent = modelOutput === undefined ? {} : { modelOutput: sendableOutput(modelOutput) };
      return withOutcome(state, event, { status: statusAfter[event.type], error, ...sent });
    }
    case "tool.denied": {
      const { reason } = event.data;
      const why = reason === undefined ? {} : { reason };
      return withOutcome(state, event, { status: statusAfter[event.type], ...why });
    }
    case "tool.skipped":
    case "tool.unknown": {
      const { reason } = event.data;
      return withOutcome(state, event, { status: statusAfter[event.type], reason });
    }
  }
}

/** An open question about the call lapses. */
export function withOutcome(
  state: HistoryState,
  { position, time, data }: Ending,
  outcome: CallOutcome,
): HistoryState {
  return withStep(state, data.step, (step) =>
    withCall(step, data, (call) => {
      const { outputRequest } = call;
      const { by } = data;
      if (outputRequest === undefined) return { ...lapsed(call, position), outcome };
      const settled = { position, at: time, ...(by === undefined ? {} : { by }) };
      return {
        ...call,
        outputRequest: { ...outputRequest, settled },
        outcome,
      };
    }),
  );
}

function withOutputRequest(
  state: HistoryState,
  { type, position, time, data }: SessionEvent<"tool.output-requested">,
): HistoryState {
  return withStep(state, data.step, (step) =>
    withCall(step, data, (call) => ({
      ...lapsed(call, position),
      outcome: { status: statusAfter[type] },
      outputRequest: { position, requestedAt: time },
    })),
  );
}

function withQuestion(
  state: HistoryState,
  { type, position, time, data }: SessionEvent<"tool.approval-requested">,
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
        ...defined({ question: data.question, state: data.state }),
        position,
        askedAt: time,
      };
      return {
        ...before,
        outcome: { status: statusAfter[type], ...reason },
        approvals: [...approvals, asked],
      };
    }),
  );
}

/**
 * A standing answer also answers the step's open questions about other calls of the tool, except whether a
 * call that was started runs again.
 */
function withAnswer(
  state: HistoryState,
  event: SessionEvent<"tool.approval-answered">,
): HistoryState {
  const { position, time, data } = event;
  const { approved, reason, always, content, by } = data;
  const why = reason === undefined ? {} : { reason };
  const answer: ApprovalDecision = {
    approved,
    ...why,
    ...defined({ always, content, by }),
    position,
    answeredAt: time,
  };
  return withStep(state, data.step, (step) => {
    const asked = step.parts.find(
      (part): part is CallPart => part.kind === "call" && part.callId === data.callId,
    );
    const answered = withCall(step, data, (call) => {
      const status = callStatusAfter(call.outcome.status, event);
      const settled = withOpenQuestion(call, (question) => ({ ...question, answer }));
      if (status === "approved") return { ...settled, outcome: { status } };
      return status === "refused" ? { ...settled, outcome: { status, ...why } } : settled;
    });
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

function withCall(
  step: StepItem,
  { callId }: CallKey,
  change: (call: CallPart) => CallPart,
): StepItem {
  const parts = [...step.parts];
  // By index, since this runs at every event: an iterator is slower.
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

/** Changes a step: the open one, or a finished one. */
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
  readonly dropped?: true;
  readonly redacted?: boolean;
}

type BlockKind = BlockPart["kind"];

export function withBlockStart(step: StepItem, kind: BlockKind, data: BlockData): StepItem {
  return {
    ...step,
    parts: [...step.parts, { kind, id: data.id, text: "", open: true, ...metadata(data) }],
  };
}

/** A delta without a start begins its block: some providers leave the start out. */
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

/** A block has one placeholder, however many of its events were redacted. */
function withText(block: BlockPart, { redacted }: BlockData, text: string): string {
  return redacted === true && block.text === "" ? REDACTED : block.text + text;
}

/** The newest metadata replaces earlier metadata, as in the AI SDK. */
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

export function succeeded({
  position,
  data: { output, modelOutput },
}: Pick<SessionEvent<"tool.succeeded">, "position" | "data">): CallOutcome {
  const outcome = { status: statusAfter["tool.succeeded"], position, output };
  return modelOutput === undefined
    ? outcome
    : { ...outcome, modelOutput: sendableOutput(modelOutput) };
}
