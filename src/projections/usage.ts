/** Token usage by step, by turn and in total, each figure measured or estimated. */

import { z } from "zod";
import {
  deepFreeze,
  estimateSchema,
  modelNameSchema,
  usageSchema,
  type ModelName,
  type PromptEstimate,
  type TokenUsage,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface StepUsage {
  readonly turn: number;
  readonly step: number;
  readonly model: ModelName;
  /** The time of its end: prices change. */
  readonly time: number;
  readonly usage: TokenUsage;
}

/** Usage outside of finished steps: a failed attempt, or the call for a summary. */
export interface SideUsage {
  readonly kind: "retry" | "compaction";
  /** 0 between turns. */
  readonly turn: number;
  /** Absent if the log does not have it. */
  readonly model?: ModelName;
  readonly time: number;
  readonly usage: TokenUsage;
}

/** The usage of a session. */
export interface UsageState {
  /** Finished steps in order; shared steps of a fork come first. */
  readonly steps: readonly StepUsage[];
  /** The sum of the session's own steps. */
  readonly total: TokenUsage;
  readonly beside: readonly SideUsage[];
  readonly inherited?: InheritedUsage;
  /** The turn that runs; 0 between turns. */
  readonly turn: number;
  readonly running?: RunningStep;
}

/** The usage of the shared part of a fork. It belongs to the source session. */
interface InheritedUsage {
  /** The last step that began before the fork point. */
  readonly step: number;
  /** The number of shared entries of `beside`. */
  readonly beside: number;
  readonly total: TokenUsage;
}

interface RunningStep {
  readonly turn: number;
  readonly step: number;
  readonly model: ModelName;
  readonly estimate: PromptEstimate;
  /** The usage of its last attempt was recorded, and the next attempt has not begun. */
  readonly isTold?: true;
}

/** The sum of two usages: measured if both are. A part that one of them lacks is left out. */
export function addUsage(left: TokenUsage, right: TokenUsage): TokenUsage {
  const sum: TokenUsage = {
    basis: left.basis === "measured" && right.basis === "measured" ? "measured" : "estimated",
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
  };
  const parts = [
    "uncachedInputTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
    "textTokens",
    "reasoningTokens",
  ] as const;
  const recorded = parts.flatMap((part) => {
    const [one, other] = [left[part], right[part]];
    return one === undefined || other === undefined ? [] : [[part, one + other] as const];
  });
  return { ...sum, ...Object.fromEntries(recorded) };
}

/** No tokens at all: the sum of no steps. */
export const noUsage: TokenUsage = deepFreeze({
  basis: "measured",
  inputTokens: 0,
  outputTokens: 0,
  uncachedInputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  textTokens: 0,
  reasoningTokens: 0,
});

function sumOf(entries: readonly { readonly usage: TokenUsage }[]): TokenUsage {
  return entries.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
}

export function ownSteps({ steps, inherited }: UsageState): readonly StepUsage[] {
  return inherited === undefined ? steps : steps.filter(({ step }) => step > inherited.step);
}

export function ownBeside({ beside, inherited }: UsageState): readonly SideUsage[] {
  return inherited === undefined ? beside : beside.slice(inherited.beside);
}

export function turnUsage({ steps, inherited }: UsageState, turn: number): TokenUsage {
  const last = steps.findLastIndex((step) => step.turn <= turn);
  const first = steps.findLastIndex((step, index) => index <= last && step.turn < turn) + 1;
  const own = steps.slice(first, last + 1).filter(({ step }) => step > (inherited?.step ?? 0));
  return sumOf(own);
}

/**
 * `total` is the sum of steps, retries and compactions. Over all sessions of a store, each token is in exactly
 * one total.
 */
export interface Spending {
  readonly steps: TokenUsage;
  readonly retries: TokenUsage;
  readonly compactions: TokenUsage;
  readonly total: TokenUsage;
  /** Of a whole fork: the usage of the shared part, which is in no other field. */
  readonly inherited?: TokenUsage;
}

/**
 * The session's own usage, in total or for one turn. Turn 0 is the time between turns.
 * @example
 * const state = events.reduce(usage.fold, usage.initial);
 * const ofTheFirstTurn = spending(state, 1);
 */
export function spending(state: UsageState, turn?: number): Spending {
  const within = (entry: { readonly turn: number }): boolean =>
    turn === undefined || entry.turn === turn;
  const beside = ownBeside(state).filter(within);
  const steps = turn === undefined ? state.total : turnUsage(state, turn);
  const retries = sumOf(beside.filter(({ kind }) => kind === "retry"));
  const compactions = sumOf(beside.filter(({ kind }) => kind === "compaction"));
  const total = [retries, compactions].reduce(addUsage, steps);
  const inherited = turn === undefined ? state.inherited?.total : undefined;
  return { steps, retries, compactions, total, ...(inherited === undefined ? {} : { inherited }) };
}

/** Sums do not need the provider's own figures. */
function withoutRaw({ raw: _, reported: __, ...usage }: TokenUsage): TokenUsage {
  return usage;
}

function ended(state: UsageState, step: number, time: number, spent: TokenUsage): UsageState {
  const { running, ...rest } = state;
  if (running === undefined || running.step !== step) return state;
  const usage = withoutRaw(spent);
  const { turn, model } = running;
  const steps = [...state.steps, { turn, step, model, time, usage }];
  const { inherited } = state;
  return inherited !== undefined && step <= inherited.step
    ? { ...rest, steps, inherited: { ...inherited, total: addUsage(inherited.total, usage) } }
    : { ...rest, steps, total: addUsage(state.total, usage) };
}

function forked(state: UsageState): UsageState {
  const { steps, beside, running, inherited } = state;
  return {
    ...state,
    total: noUsage,
    inherited: {
      step: running?.step ?? steps.at(-1)?.step ?? 0,
      beside: beside.length,
      total: addUsage(inherited?.total ?? noUsage, spending(state).total),
    },
  };
}

function spentBeside(
  state: UsageState,
  kind: SideUsage["kind"],
  time: number,
  { model, usage }: { readonly model?: ModelName; readonly usage?: TokenUsage },
): UsageState {
  if (usage === undefined) return state;
  const { turn } = state;
  const entry = { kind, turn, time, usage: withoutRaw(usage) };
  return {
    ...state,
    beside: [...state.beside, model === undefined ? entry : { ...entry, model }],
  };
}

const stepSchema = { turn: z.int(), step: z.int(), model: modelNameSchema };

export const runningStepSchema: z.ZodType<RunningStep> = z.lazy(() =>
  z.object({
    ...stepSchema,
    estimate: estimateSchema,
    isTold: z.literal(true).exactOptional(),
  }),
);

/**
 * Folds the tokens of each step and of what was spent besides, such as summaries.
 * @example
 * const state = events.reduce(usage.fold, usage.initial);
 */
export const usage: Projection<UsageState> = defineProjection<UsageState>({
  name: "usage",
  version: 5,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      steps: z.array(z.object({ ...stepSchema, time: z.number(), usage: usageSchema })),
      total: usageSchema,
      beside: z.array(
        z.object({
          kind: z.enum(["retry", "compaction"]),
          turn: z.int(),
          model: modelNameSchema.exactOptional(),
          time: z.number(),
          usage: usageSchema,
        }),
      ),
      inherited: z.object({ step: z.int(), beside: z.int(), total: usageSchema }).exactOptional(),
      turn: z.int(),
      running: runningStepSchema.exactOptional(),
    }),
  ),
  initial: { steps: [], total: noUsage, beside: [], turn: 0 },
  on: {
    "session.forked": forked,
    "turn.started": (state, { data }) => ({ ...state, turn: data.turn }),
    "turn.ended": (state) => ({ ...state, turn: 0 }),
    "step.started": (state, { data: { turn, step, model, estimate } }) => ({
      ...state,
      running: { turn, step, model, estimate },
    }),
    "step.finished": (state, { time, data }) => ended(state, data.step, time, data.usage),
    "step.failed": (state, { time, data }) => ended(state, data.step, time, data.usage),
    "step.interrupted": (state, { time, data }) => ended(state, data.step, time, data.usage),
    "step.retrying": (state, { time, data: { usage: spent } }) => {
      const { running } = state;
      if (spent === undefined || running === undefined) return state;
      const recorded = { ...state, running: { ...running, isTold: true as const } };
      return spentBeside(recorded, "retry", time, { model: running.model, usage: spent });
    },
    // A refused prompt costs nothing.
    "context.overflowed": (state) =>
      state.running === undefined
        ? state
        : { ...state, running: { ...state.running, isTold: true as const } },
    "context.compacted": (state, { time, data }) => spentBeside(state, "compaction", time, data),
    "context.compaction-rejected": (state, { time, data }) =>
      spentBeside(state, "compaction", time, data),
    "context.summary-rejected": (state, { time, data }) =>
      spentBeside(state, "compaction", time, data),
  },
});
