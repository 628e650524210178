/** The start, the rest and the end of a message's turn, read from the session's state. Pure. */

import {
  deepFreeze,
  defined,
  isSameModel,
  type JsonValue,
  type ModelName,
  type StoredError,
  type TokenUsage,
  type TurnEndReason,
  type TurnOutput,
  type EventBody,
} from "../../events/index.ts";
import {
  acceptedAt,
  waitingMessage,
  turnUsage,
  type HistoryItem,
  type StepItem,
  type TurnEndItem,
} from "../../projections/index.ts";
import {
  type DescribedCall,
  describedCalls,
  heldBudget,
  isAtRest,
  waitingApprovals,
  waitingOutputs,
  type Approval,
  type HeldBudget,
  type OutputRequest,
  type SessionState,
  type SessionRecorder,
} from "../../state/index.ts";
import { providerFailure } from "../model/provider-failure.ts";
import type { OutputInterface } from "ai";
import { isStructured, parsedOutput } from "../../agent/index.ts";
import { toJson } from "../../shared/index.ts";

/**
 * How a turn ended: its text, reason and usage.
 * @example
 * const { text, finishReason, usage }: TurnResult = await turn.result;
 */
export interface TurnResult<OUTPUT = unknown> {
  readonly turn: number;
  /** The text of the turn's last step. */
  readonly text: string;
  readonly finishReason: TurnEndReason;
  /** The model of the last step; undefined if none was called. */
  readonly model?: ModelName;
  /** The model ended the turn without any output in its last step, although it was called a second time. */
  readonly empty?: true;
  /** The sum over the steps of the turn. */
  readonly usage: TokenUsage;
  /**
   * The structured output, by the `output` of the message or the agent; It is JSON if only the log has it, as
   * from `session.turn(id)` after a restart. Undefined if none was requested, or if the turn ended without a
   * reply.
   */
  readonly output: OUTPUT | undefined;
  /** The text was no JSON until a code fence, words around it or trailing commas were left out. */
  readonly repaired?: true;
}

type EndedTurn = Omit<TurnResult, "output" | "repaired">;

export type TurnOutcome =
  | {
      readonly kind: "ended";
      readonly result: EndedTurn;
      /** As the log has it. */
      readonly output: TurnOutput | undefined;
    }
  | {
      readonly kind: "failed";
      readonly result: EndedTurn;
      readonly error: StoredError;
      /** Epoch milliseconds. */
      readonly endedAt: number;
    }
  | { readonly kind: "withdrawn" };

/**
 * Finds the outcome for a message: undefined while the message waits or its turn runs. Remembers the
 * turn, so that a look after each event has the same cost in a session of any length.
 */
export function outcomeOf(messageId: string): (state: SessionState) => TurnOutcome | undefined {
  let turn: number | undefined;
  return (state) => {
    const { history, boundaries, queue, usage } = state;
    const isClosed = state.machine.matches("closed");
    // A closed session delivers nothing.
    if (!isClosed && waitingMessage(history, messageId) !== undefined) return undefined;
    const accepted = acceptedAt(queue, messageId);
    if (accepted === undefined) return undefined;
    turn ??= turnOf(boundaries, messageId, accepted);
    if (turn === undefined) return { kind: "withdrawn" };
    const end = endOf(boundaries, turn);
    if (end === undefined) return undefined;
    const text = lastText(boundaries, turn);
    const result = {
      turn,
      text,
      finishReason: end.reason,
      ...defined({ model: lastStep(boundaries, turn)?.model }),
      ...(end.empty === undefined ? {} : { empty: end.empty }),
      usage: turnUsage(usage, turn),
    };
    const error = end.error ?? unnamedError(end, lastStep(boundaries, turn));
    return deepFreeze(
      error === undefined
        ? { kind: "ended", result, output: end.output }
        : { kind: "failed", result, error, endedAt: end.time },
    );
  };
}

/** Earlier releases recorded no error of a reply that ended with one. */
function unnamedError(
  { reason }: TurnEndItem,
  step: StepItem | undefined,
): StoredError | undefined {
  if (reason !== "failed") return undefined;
  const { rawFinishReason } = step?.end ?? {};
  return {
    name: "Error",
    message: "The provider ended the reply with an unnamed error.",
    ...(rawFinishReason === undefined ? {} : { rawFinishReason }),
  };
}

/** For programs: the provider's word for the end of a broken reply, and the delay that it requested. */
export function failureDetails({
  error,
  endedAt,
}: Extract<TurnOutcome, { readonly kind: "failed" }>): {
  readonly rawFinishReason?: JsonValue;
  readonly retryAfterMs?: number;
} {
  const { rawFinishReason } = error;
  const { isRetryable, retryAfterMs } = providerFailure(error, endedAt);
  return {
    ...(rawFinishReason === undefined ? {} : { rawFinishReason }),
    ...(isRetryable && retryAfterMs !== undefined ? { retryAfterMs } : {}),
  };
}

/** Where a message was delivered. */
export interface TurnStart {
  /** The position of its `message.delivered`. */
  readonly position: number;
  readonly turn: number;
}

/** Finds the delivery of a message: undefined while the message waits. */
export function startOf(
  messageId: string,
): (state: SessionState) => TurnStart | "withdrawn" | undefined {
  const outcomeIn = outcomeOf(messageId);
  return (state) => {
    const { history, boundaries } = state;
    const isClosed = state.machine.matches("closed");
    if (!isClosed && waitingMessage(history, messageId) !== undefined) return undefined;
    const message = boundaries.items.findLast(
      (item) => item.kind === "user" && item.id === messageId,
    );
    if (message !== undefined) return { position: message.position, turn: message.turn };
    return outcomeIn(state)?.kind === "withdrawn" ? "withdrawn" : undefined;
  };
}

/** How a turn rests before its end: it waits, or its message is held. */
export type TurnWait =
  /**
   * A turn waits: for approvals (`session.approve` or `deny`), a client's outputs (`session.answerCall`), or more to
   * spend (`session.allow`).
   */
  | {
      readonly kind: "waiting";
      readonly approvals: readonly Approval[];
      readonly outputRequests: readonly OutputRequest[];
      readonly budget?: HeldBudget;
    }
  /** The message waits behind a cancelled, failed or interrupted turn, until `session.resume()`. */
  | { readonly kind: "held" };

/** Finds how the turn of a message came to rest. Undefined while the turn continues without further input. */
export function restOf(
  session: string,
  messageId: string,
): (state: SessionState) => TurnOutcome | TurnWait | undefined {
  const outcomeIn = outcomeOf(messageId);
  return (state) => {
    const outcome = outcomeIn(state);
    if (outcome !== undefined || !isAtRest(state)) return outcome;
    const approvals = waitingApprovals(session, state);
    const outputRequests = waitingOutputs(session, state);
    const budget = heldBudget(state);
    return approvals.length + outputRequests.length > 0 || budget !== undefined
      ? { kind: "waiting", approvals, outputRequests, ...defined({ budget }) }
      : { kind: "held" };
  };
}

/** Finished items of all branches: a turn that a rewind left has its outcome still. */
type Items = SessionState["boundaries"];

/** The turn that delivered a message last, which was accepted at a position. */
function turnOf({ items }: Items, id: string, accepted: number): number | undefined {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item === undefined || item.position < accepted) return undefined;
    if (item.kind === "user" && item.id === id) return item.turn;
  }
  return undefined;
}

/** The end of a turn is its last item. */
function endOf({ items }: Items, turn: number): TurnEndItem | undefined {
  const last = items[lastIndexOf(items, turn)];
  return last?.kind === "turn-end" ? last : undefined;
}

function lastIndexOf(items: readonly HistoryItem[], turn: number): number {
  const last = items.findLastIndex((item) => item.turn <= turn && item.kind !== "note");
  return items[last]?.turn === turn ? last : -1;
}

export function turnRemains(
  { boundaries, history, toolCalls }: SessionState,
  turn: number | undefined,
): {
  readonly ended: TurnEndReason | undefined;
  readonly kept: { readonly text: string; readonly calls: readonly DescribedCall[] };
} {
  if (turn === undefined) return { ended: undefined, kept: { text: "", calls: [] } };
  const last = lastStep(boundaries, turn);
  const calls = toolCalls.ended.filter((call) => call.step === last?.step);
  return deepFreeze({
    ended: endOf(boundaries, turn)?.reason,
    kept: { text: lastText(boundaries, turn), calls: describedCalls(calls, history) },
  });
}

function lastStep({ items }: Items, turn: number): StepItem | undefined {
  for (let index = lastIndexOf(items, turn); index >= 0; index--) {
    const item = items[index];
    if (item?.turn !== turn) return undefined;
    if (item.kind === "step") return item;
  }
  return undefined;
}

function lastText({ items }: Items, turn: number): string {
  return textOfStep(items.slice(0, lastIndexOf(items, turn) + 1), turn);
}

/** The text of a turn's last step: of its last attempt, and what another model said before that one took over. */
function textOfStep(items: readonly HistoryItem[], turn: number): string {
  let text = "";
  let later: StepItem | undefined;
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item?.turn !== turn) return text;
    if (item.kind !== "step") continue;
    if (later !== undefined && item.step !== later.step) return text;
    if (later === undefined || !isSameModel(item.model, later.model))
      text = item.parts.map((part) => (part.kind === "text" ? part.text : "")).join("") + text;
    later = item;
  }
  return text;
}

// Ends a turn, with its structured output.

/** Records the end of a turn: at once, or when its output is parsed. */
export function endTurn(
  recorder: SessionRecorder,
  reason: TurnEndReason,
  output: OutputInterface | undefined,
): Promise<void> | undefined {
  const parsing = turnOutput(recorder.state, reason, output);
  if (parsing !== undefined) return endParsed(recorder, reason, parsing);
  recorder.record(turnEnded(recorder.state, reason));
  return undefined;
}

async function endParsed(
  recorder: SessionRecorder,
  reason: TurnEndReason,
  parsing: Promise<TurnOutput>,
): Promise<void> {
  const { turn } = recorder.state.machine.context;
  const output = await parsing;
  const { machine } = recorder.state;
  // A cancel or the turn's time limit has ended it first, without the output.
  if (machine.context.turn !== turn || !machine.matches({ streaming: "ending" })) return;
  recorder.record(turnEnded(recorder.state, reason, output));
}

function turnEnded(
  { machine, history }: SessionState,
  reason: TurnEndReason,
  output?: TurnOutput,
): EventBody<"turn.ended"> {
  const { turn } = machine.context;
  const error = reason === "failed" ? history.open?.error : undefined;
  return {
    type: "turn.ended",
    data: {
      turn,
      reason,
      ...(error === undefined ? {} : { error }),
      ...(output === undefined ? {} : { output }),
    },
  };
}

/** The output of the turn's last step. Undefined if none is requested, or if the turn ends without a reply. */
function turnOutput(
  { history }: SessionState,
  reason: TurnEndReason,
  output: OutputInterface | undefined,
): Promise<TurnOutput> | undefined {
  if (!isStructured(output) || !repliedReasons.has(reason)) return undefined;
  const { items, open, turn } = history;
  const text = open === undefined ? "" : textOfStep([...items, open], turn);
  // A reply that was cut off before its first word, as `generateText` reads it.
  if (reason !== "stop" && text === "") return undefined;
  return parsedOutput(output, text).then(({ value, error, ...how }) =>
    error === undefined ? { value: toJson(value), ...how } : { error },
  );
}

const repliedReasons: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>([
  "stop",
  "length",
  "content-filter",
]);
