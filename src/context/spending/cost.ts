/** The cost of a session in US dollars, as far as prices are known, and the tokens of a running step. Pure. */

import { deepFreeze, type ModelName, type TokenUsage } from "../../events/index.ts";
import {
  ownBeside,
  ownSteps,
  type UsageState,
  noUsage,
  type HistoryState,
} from "../../projections/index.ts";
import { uncheckedCallCost, type KnownLimits } from "../models/model-limits.ts";
import { textTokens } from "../estimate/text-tokens.ts";
import { z } from "zod";
import { flag, name, optionsOf, position } from "../../validation/index.ts";

/** US dollars, as far as prices are known. */
export interface Cost {
  /** US dollars for the calls with a known price. */
  readonly dollars: number;
  /** `estimated` if the tokens of any call were. */
  readonly basis: "measured" | "estimated";
  /** The number of calls without a known price. */
  readonly unpriced: number;
}

/** The cost of a session by purpose. */
export interface SessionCost {
  readonly steps: Cost;
  readonly retries: Cost;
  readonly compactions: Cost;
  readonly total: Cost;
  /** For a whole fork: the cost of the shared part, which is not in the sum. */
  readonly inherited?: Cost;
}

interface Call {
  readonly model?: ModelName;
  readonly time: number;
  readonly usage: TokenUsage;
}

const free: Cost = deepFreeze({ dollars: 0, basis: "measured", unpriced: 0 });

export function addCost(left: Cost, right: Cost): Cost {
  const measured = left.basis === "measured" && right.basis === "measured";
  return {
    dollars: left.dollars + right.dollars,
    basis: measured ? "measured" : "estimated",
    unpriced: left.unpriced + right.unpriced,
  };
}

function costOf({ model, time, usage }: Call, known: KnownLimits): Cost {
  const dollars = model === undefined ? undefined : uncheckedCallCost(model, usage, time, known);
  return dollars === undefined
    ? { ...free, unpriced: 1 }
    : { dollars, basis: usage.basis, unpriced: 0 };
}

/**
 * The session's own cost, in total or for one turn.
 * @example
 * const state = events.reduce(usage.fold, usage.initial);
 * const overrides = { "openai:gpt-5": { prices: { input: 1.25, output: 10 } } };
 * const { total } = sessionCost(state, { overrides });
 */
export function sessionCost(state: UsageState, known: KnownLimits, turn?: number): SessionCost {
  const sum = (calls: readonly (Call & { readonly turn: number })[]): Cost =>
    calls
      .filter((call) => turn === undefined || call.turn === turn)
      .reduce((total, call) => addCost(total, costOf(call, known)), free);
  const [own, beside] = [ownSteps(state), ownBeside(state)];
  const steps = sum(own);
  const retries = sum(beside.filter(({ kind }) => kind === "retry"));
  const compactions = sum(beside.filter(({ kind }) => kind === "compaction"));
  const total = [retries, compactions].reduce(addCost, steps);
  const whole = { steps, retries, compactions, total };
  if (state.inherited === undefined || turn !== undefined) return whole;
  const shared = state.steps.slice(0, state.steps.length - own.length);
  return {
    ...whole,
    inherited: sum([...shared, ...state.beside.slice(0, state.inherited.beside)]),
  };
}

/** The cost of some turns of the session, with their retries and compactions. */
export function turnsCost(state: UsageState, known: KnownLimits, turns: ReadonlySet<number>): Cost {
  return [...ownSteps(state), ...ownBeside(state)]
    .filter(({ turn }) => turns.has(turn))
    .reduce((total, call) => addCost(total, costOf(call, known)), free);
}

/** The running step's prompt and its output so far. */
export function estimateSpent({ running }: UsageState, history: HistoryState): TokenUsage {
  // The usage of the last attempt was recorded, and the next one has not begun.
  if (running === undefined || running.isTold === true) return noUsage;
  const said = (history.open?.parts ?? []).reduce((sum, part) => {
    switch (part.kind) {
      case "text":
      case "reasoning":
        return sum + textTokens(part.text);
      case "call":
      case "provider-call":
        return sum + textTokens(part.toolName + JSON.stringify(part.input));
      default:
        return sum;
    }
  }, 0);
  return {
    basis: "estimated",
    inputTokens: running.estimate.tokens,
    outputTokens: Math.ceil(said),
  };
}

// What is asked to be otherwise in a bill. The bill itself is loaded when one is read. Pure.

/** What is otherwise in a computed bill. All that is left out stays as it was. */
export interface WhatIf {
  /** Positions of compactions and prunings that are left out. */
  readonly without?: readonly number[];
  /** Whether prompts are cached. Default: as they were. */
  readonly caching?: boolean;
  /** The model whose prices are paid. */
  readonly model?: ModelName;
}

export const whatIfSchema: z.ZodType = z.lazy(() =>
  optionsOf<WhatIf>(
    {
      without: z.array(position, "a list of positions"),
      caching: flag,
      model: optionsOf<ModelName>({}, { provider: name, modelId: name }),
    },
    {},
  ),
);
