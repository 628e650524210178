/**
 * What one session did, by turn and by step, in a form in which two can be compared: prompts by digest, calls with
 * their outcomes, texts, ends, tokens, dollars and time. What a rewind took back does not count. Pure.
 */

import type { ModelMessage } from "ai";
import { uncheckedCallCost, type KnownLimits } from "../context/index.ts";
import {
  defined,
  describedAgent,
  type AgentDescription,
  type FinishReason,
  type JsonValue,
  type ModelName,
  type SessionEvent,
  type StoredUserContent,
  type TokenUsage,
  type TurnEndReason,
} from "../events/index.ts";
import { hasEnded, type EndedStatus } from "../folds/index.ts";
import {
  activeSpans,
  isWithin,
  promptMessages,
  standingPrompt,
  stepTimelines,
  type HistoryItem,
  type HistoryPart,
  type StandingPrompt,
  type StepItem,
} from "../projections/index.ts";
import { foldSession, initialSessionState } from "../state/index.ts";

/** One session, as it went. */
export interface Lane {
  readonly session: string;
  /** The last one that the session names. */
  readonly agent?: AgentDescription;
  readonly turns: readonly LaneTurn[];
  readonly steps: readonly LaneStep[];
  readonly totals: LaneTotals;
}

export interface LaneTurn {
  readonly turn: number;
  /** Of its `turn.started`. */
  readonly position: number;
  readonly maxSteps: number;
  /** The texts of the user, with the media types of files. */
  readonly message: string;
  readonly files: readonly StoredFile[];
  readonly end: TurnEndReason | "unfinished";
  /** Why it failed, or why its text was not the output that was asked for. */
  readonly error?: string;
  /** The text of its last step. */
  readonly text: string;
}

/** A file of a user's message. */
export type StoredFile = Exclude<StoredUserContent, string>[number] & { readonly type: "file" };

/** A model call with the calls that it makes. Attempts at one step are one, with the end of the last. */
export interface LaneStep {
  readonly step: number;
  readonly turn: number;
  /** Of the `step.started` of its last attempt. */
  readonly position: number;
  readonly attempts: number;
  readonly promptDigest: string;
  readonly standing: StandingPrompt;
  /** The messages of its prompt. */
  readonly messages: () => readonly ModelMessage[];
  readonly model: ModelName;
  readonly text: string;
  readonly reasoning?: string;
  readonly calls: readonly LaneCall[];
  readonly end: FinishReason | "failed" | "unfinished";
  readonly error?: string;
  /** Of all attempts. */
  readonly tokens: LaneTokens;
  /** Absent if no price is known. */
  readonly dollars?: number;
  /** From its beginning to the end of its last call. */
  readonly ms: number;
}

export interface LaneTokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly output: number;
}

/** A call of a tool, or of one that the provider runs. */
export interface LaneCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly outcome: EndedStatus | "waiting";
  /** A person was asked whether it may run. */
  readonly asked: boolean;
  readonly output?: JsonValue;
  /** The message of the error, or why the call was denied, skipped or has an unknown outcome. */
  readonly error?: string;
}

/** Of the steps, and of the summaries between them. */
export interface LaneTotals {
  readonly steps: number;
  readonly calls: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly outputTokens: number;
  /** Absent if the price of a call is not known. */
  readonly dollars?: number;
  readonly ms: number;
}

type Sent = Pick<LaneStep, "promptDigest" | "standing" | "messages">;

interface Spent extends LaneTokens {
  readonly dollars: number | undefined;
}

const nothing: Spent = { input: 0, cacheRead: 0, output: 0, dollars: 0 };

/**
 * @param events - All of the session, readable.
 * @param known - Prices.
 * @throws TurnlogError `LOG_DAMAGED` and the other errors of a fold
 */
export function laneOf(
  session: string,
  events: readonly SessionEvent[],
  known: KnownLimits = {},
): Lane {
  let state = initialSessionState;
  let agent: AgentDescription | undefined;
  const prompts = new Map<number, Sent>();
  for (const event of events) {
    if (event.type === "step.started") {
      const { history, view } = state;
      prompts.set(event.position, {
        promptDigest: event.data.promptDigest,
        standing: standingPrompt(state),
        messages: () => promptMessages(history, view),
      });
    }
    agent = describedAgent(event) ?? agent;
    state = foldSession(state, event).state;
  }
  const spans = activeSpans(state.branches);
  const active = events.filter(({ position }) => isWithin(spans, position));
  const items = [...state.history.items, ...(state.history.open ? [state.history.open] : [])];
  const spent = spendingOf(active, known);
  const steps = stepsOf(items, active, prompts, spent.steps);
  const { input, cacheRead, output, dollars } = spent.total;
  return {
    session,
    ...defined({ agent }),
    turns: turnsOf(items, steps, active),
    steps,
    totals: {
      steps: steps.length,
      calls: sum(steps.map(({ calls }) => calls.length)),
      inputTokens: input,
      cacheReadTokens: cacheRead,
      outputTokens: output,
      ...defined({ dollars }),
      ms: sum(steps.map(({ ms }) => ms)),
    },
  };
}

export function sum(figures: readonly number[]): number {
  return figures.reduce((one, other) => one + other, 0);
}

function stepsOf(
  items: readonly HistoryItem[],
  events: readonly SessionEvent[],
  prompts: ReadonlyMap<number, Sent>,
  spent: ReadonlyMap<number, Spent>,
): readonly LaneStep[] {
  const attempts = items.filter((item) => item.kind === "step");
  const last = new Map(attempts.map((item) => [item.step, item]));
  const timelines = new Map(stepTimelines(events).map((one) => [one.step, one]));
  const results = new Map(
    attempts
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.kind === "provider-result" ? [[part.callId, part]] : [])),
  );
  return [...last.values()].flatMap((item) => {
    const { step, turn, position, attempt, model, parts, error } = item;
    const prompt = prompts.get(position);
    if (prompt === undefined) return [];
    const { dollars, ...tokens } = spent.get(step) ?? nothing;
    const reasoning = textOf(parts, "reasoning");
    return {
      step,
      turn,
      position,
      attempts: attempt,
      ...prompt,
      model,
      text: textOf(parts, "text"),
      ...(reasoning === "" ? {} : { reasoning }),
      calls: parts.flatMap((part) => callOf(part, results) ?? []),
      end: endOf(item),
      ...defined({ error: error?.message }),
      tokens,
      ...defined({ dollars }),
      ms: timelines.get(step)?.totalMs ?? 0,
    };
  });
}

function endOf({ status, finishReason }: StepItem): LaneStep["end"] {
  if (status === "finished") return finishReason ?? "other";
  return status === "streaming" ? "unfinished" : status;
}

function textOf(parts: readonly HistoryPart[], kind: "text" | "reasoning"): string {
  return parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join("");
}

type Result = HistoryPart & { readonly kind: "provider-result" };

function callOf(part: HistoryPart, results: ReadonlyMap<string, Result>): LaneCall | undefined {
  if (part.kind === "provider-call") {
    const { callId, toolName, input } = part;
    const result = results.get(callId);
    const call = { callId, toolName, input, asked: false } as const;
    if (result === undefined) return { ...call, outcome: "waiting" };
    const outcome = result.isError ? "failed" : "succeeded";
    return { ...call, outcome, output: result.output };
  }
  if (part.kind !== "call") return undefined;
  const { callId, toolName, input, outcome: end, approvals } = part;
  const outcome = hasEnded(end.status) ? end.status : "waiting";
  const call = { callId, toolName, input, outcome, asked: approvals !== undefined } as const;
  switch (end.status) {
    case "succeeded":
      return { ...call, output: end.output };
    case "failed":
      return { ...call, error: end.error.message };
    case "denied":
    case "skipped":
    case "unknown":
      return { ...call, ...defined({ error: end.reason }) };
    default:
      return call;
  }
}

function turnsOf(
  items: readonly HistoryItem[],
  steps: readonly LaneStep[],
  events: readonly SessionEvent[],
): readonly LaneTurn[] {
  const said = Map.groupBy(items, ({ turn }) => turn);
  const stepsByTurn = Map.groupBy(steps, ({ turn }) => turn);
  return events.flatMap(({ type, data, position }) => {
    if (type !== "turn.started") return [];
    const { turn, maxSteps } = data;
    const own = said.get(turn) ?? [];
    const content = own.flatMap((item) => (item.kind === "user" ? [item.content] : []));
    const end = own.find((item) => item.kind === "turn-end");
    return {
      turn,
      position,
      maxSteps,
      message: content.map(messageText).join("\n"),
      files: content.flatMap((one) =>
        typeof one === "string" ? [] : one.filter((part) => part.type === "file"),
      ),
      end: end?.reason ?? "unfinished",
      ...defined({ error: (end?.error ?? end?.output?.error)?.message }),
      text: stepsByTurn.get(turn)?.at(-1)?.text ?? "",
    };
  });
}

function messageText(content: StoredUserContent): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`))
    .join("\n");
}

/** By step, with all attempts, and in total with summaries. */
function spendingOf(
  events: readonly SessionEvent[],
  known: KnownLimits,
): { readonly steps: ReadonlyMap<number, Spent>; readonly total: Spent } {
  const steps = new Map<number, Spent>();
  let total = nothing;
  let running: ModelName | undefined;
  const add = (
    usage: TokenUsage | undefined,
    model: ModelName | undefined,
    time: number,
    step?: number,
  ): void => {
    if (usage === undefined) return;
    const { inputTokens: input, cacheReadTokens: cacheRead = 0, outputTokens: output } = usage;
    const dollars = model && uncheckedCallCost(model, usage, time, known);
    const one = { input, cacheRead, output, dollars };
    total = both(total, one);
    if (step !== undefined) steps.set(step, both(steps.get(step) ?? nothing, one));
  };
  for (const { type, data, time } of events) {
    switch (type) {
      case "step.started":
        running = data.model;
        break;
      case "step.retrying":
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        add(data.usage, running, time, data.step);
        break;
      case "context.compacted":
      case "context.compaction-rejected":
      case "context.summary-rejected":
        add(data.usage, data.model, time);
        break;
      default:
    }
  }
  return { steps, total };
}

function both(one: Spent, other: Spent): Spent {
  const isPriced = one.dollars !== undefined && other.dollars !== undefined;
  return {
    input: one.input + other.input,
    cacheRead: one.cacheRead + other.cacheRead,
    output: one.output + other.output,
    dollars: isPriced ? one.dollars + other.dollars : undefined,
  };
}
