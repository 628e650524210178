/** Token figures: per step, per turn and in all. Each says whether it was measured or estimated. */

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

/** What one step cost in tokens. */
export interface StepUsage {
  readonly turn: number;
  readonly step: number;
  readonly model: ModelName;
  /** When it ended: prices change. */
  readonly at: number;
  readonly usage: TokenUsage;
}

/** Tokens spent beside the steps: on an attempt that failed and was repeated, or on a summary. */
export interface SideUsage {
  readonly kind: "retry" | "compaction";
  /** 0 between turns. */
  readonly turn: number;
  /** Absent where the log does not say. */
  readonly model?: ModelName;
  readonly at: number;
  readonly usage: TokenUsage;
}

/** What a session cost in tokens, by step and in sum. */
export interface UsageState {
  /** One for each step that has ended, in order; in a fork, those that it shares come first. */
  readonly steps: readonly StepUsage[];
  /** The sum of the session's own steps. */
  readonly total: TokenUsage;
  readonly beside: readonly SideUsage[];
  /** Of a fork: what was spent before it branched off, which is none of its own spending. */
  readonly inherited?: InheritedUsage;
  /** The turn that runs; 0 between turns. */
  readonly turn: number;
  /** The step that is running, with the estimated size of its prompt. */
  readonly running?: RunningStep;
}

/** What a fork shares was spent by the session that it shares it with. */
interface InheritedUsage {
  /** The last step that had begun. When that one ends, its figures are no more the fork's than the others. */
  readonly step: number;
  /** How many of the entries beside the steps. */
  readonly beside: number;
  /** All of it. */
  readonly total: TokenUsage;
}

/** The step that runs. */
interface RunningStep {
  readonly turn: number;
  readonly step: number;
  readonly model: ModelName;
  readonly estimate: PromptEstimate;
  /** What its last attempt has spent was told: until the next one begins, nothing more is spent. */
  readonly isTold?: true;
}

/** Measured only if every summand was. A part that one summand does not tell is left out of the sum. */
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
  const told = parts.flatMap((part) => {
    const [one, other] = [left[part], right[part]];
    return one === undefined || other === undefined ? [] : [[part, one + other] as const];
  });
  return { ...sum, ...Object.fromEntries(told) };
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

/** The steps that a session has run itself, and not another one before it branched off. */
export function ownSteps({ steps, inherited }: UsageState): readonly StepUsage[] {
  return inherited === undefined ? steps : steps.filter(({ step }) => step > inherited.step);
}

/** What a session has spent itself beside its steps. */
export function ownBeside({ beside, inherited }: UsageState): readonly SideUsage[] {
  return inherited === undefined ? beside : beside.slice(inherited.beside);
}

/** The sum over the session's own steps of one turn. */
export function turnUsage({ steps, inherited }: UsageState, turn: number): TokenUsage {
  const last = steps.findLastIndex((step) => step.turn <= turn);
  const first = steps.findLastIndex((step, index) => index <= last && step.turn < turn) + 1;
  const own = steps.slice(first, last + 1).filter(({ step }) => step > (inherited?.step ?? 0));
  return sumOf(own);
}

/**
 * Where the tokens went. `total` is the sum of steps, retries and compactions: over all sessions of a
 * store, each token is in one total.
 */
export interface Spending {
  readonly steps: TokenUsage;
  readonly retries: TokenUsage;
  readonly compactions: TokenUsage;
  readonly total: TokenUsage;
  /** Of a fork as a whole: what others had spent before it branched off. In none of the others. */
  readonly inherited?: TokenUsage;
}

/** What a session has spent itself, or in one of its turns; turn 0 is what was spent between turns. */
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

/** The provider's raw figures stay in the log; a running sum has no use for them. */
function withoutRaw({ raw: _, ...usage }: TokenUsage): TokenUsage {
  return usage;
}

function ended(state: UsageState, step: number, at: number, spent: TokenUsage): UsageState {
  const { running, ...rest } = state;
  if (running === undefined || running.step !== step) return state;
  const usage = withoutRaw(spent);
  const { turn, model } = running;
  const steps = [...state.steps, { turn, step, model, at, usage }];
  const { inherited } = state;
  return inherited !== undefined && step <= inherited.step
    ? { ...rest, steps, inherited: { ...inherited, total: addUsage(inherited.total, usage) } }
    : { ...rest, steps, total: addUsage(state.total, usage) };
}

/** From here on figures are the fork's own. */
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
  at: number,
  { model, usage }: { readonly model?: ModelName; readonly usage?: TokenUsage },
): UsageState {
  if (usage === undefined) return state;
  const { turn } = state;
  const entry = { kind, turn, at, usage: withoutRaw(usage) };
  return {
    ...state,
    beside: [...state.beside, model === undefined ? entry : { ...entry, model }],
  };
}

const stepSchema = { turn: z.int(), step: z.int(), model: modelNameSchema };

/** Folds what steps, retries and compactions cost in tokens. */
export const usage: Projection<UsageState> = defineProjection<UsageState>({
  name: "usage",
  version: 4,
  schema: z.object({
    steps: z.array(z.object({ ...stepSchema, at: z.number(), usage: usageSchema })),
    total: usageSchema,
    beside: z.array(
      z.object({
        kind: z.enum(["retry", "compaction"]),
        turn: z.int(),
        model: modelNameSchema.exactOptional(),
        at: z.number(),
        usage: usageSchema,
      }),
    ),
    inherited: z.object({ step: z.int(), beside: z.int(), total: usageSchema }).exactOptional(),
    turn: z.int(),
    running: z
      .object({ ...stepSchema, estimate: estimateSchema, isTold: z.literal(true).exactOptional() })
      .exactOptional(),
  }),
  initial: { steps: [], total: noUsage, beside: [], turn: 0 },
  on: {
    "session.forked": forked,
    "turn.started": (state, { data }) => ({ ...state, turn: data.turn }),
    "turn.ended": (state) => ({ ...state, turn: 0 }),
    "step.started": (state, { data: { turn, step, model, estimate } }) => ({
      ...state,
      running: { turn, step, model, estimate },
    }),
    "step.finished": (state, { time: at, data }) => ended(state, data.step, at, data.usage),
    "step.failed": (state, { time: at, data }) => ended(state, data.step, at, data.usage),
    "step.interrupted": (state, { time: at, data }) => ended(state, data.step, at, data.usage),
    "step.retrying": (state, { time: at, data: { usage: spent } }) => {
      const { running } = state;
      if (spent === undefined || running === undefined) return state;
      const told = { ...state, running: { ...running, isTold: true as const } };
      return spentBeside(told, "retry", at, { model: running.model, usage: spent });
    },
    // A prompt that was refused costs nothing.
    "context.overflowed": (state) =>
      state.running === undefined
        ? state
        : { ...state, running: { ...state.running, isTold: true as const } },
    "context.compacted": (state, { time: at, data }) => spentBeside(state, "compaction", at, data),
    "context.compaction-rejected": (state, { time: at, data }) =>
      spentBeside(state, "compaction", at, data),
    "context.summary-rejected": (state, { time: at, data }) =>
      spentBeside(state, "compaction", at, data),
  },
});
