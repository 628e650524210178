/** What a session has cost in money, where the prices of its models are known. */

import { deepFreeze, type ModelName, type TokenUsage } from "../events/index.ts";
import {
  ownBeside,
  ownSteps,
  type UsageState,
  noUsage,
  type HistoryState,
} from "../projections/index.ts";
import { callCost, type KnownLimits } from "./model-limits.ts";
import { textTokens } from "./text-tokens.ts";

/** What model calls cost, as far as their prices are known. */
interface Cost {
  /** US dollars of the calls whose price is known. */
  readonly dollars: number;
  /** `estimated` where the tokens of a call were. */
  readonly basis: "measured" | "estimated";
  /** Calls that nobody knows a price of: they are not in the sum. */
  readonly unpriced: number;
}

/** What a session cost, by what it was spent on. */
export interface SessionCost {
  readonly steps: Cost;
  readonly retries: Cost;
  readonly compactions: Cost;
  /** The sum of the other three. */
  readonly total: Cost;
  /** Of a fork as a whole: what others had spent before it branched off. Not in the sum. */
  readonly inherited?: Cost;
}

interface Call {
  readonly model?: ModelName;
  readonly at: number;
  readonly usage: TokenUsage;
}

const free: Cost = deepFreeze({ dollars: 0, basis: "measured", unpriced: 0 });

function add(left: Cost, right: Cost): Cost {
  const measured = left.basis === "measured" && right.basis === "measured";
  return {
    dollars: left.dollars + right.dollars,
    basis: measured ? "measured" : "estimated",
    unpriced: left.unpriced + right.unpriced,
  };
}

function costOf({ model, at, usage }: Call, known: KnownLimits): Cost {
  const dollars = model === undefined ? undefined : callCost(model, usage, at, known);
  return dollars === undefined
    ? { ...free, unpriced: 1 }
    : { dollars, basis: usage.basis, unpriced: 0 };
}

/** The money that a session has cost itself, or one of its turns. */
export function sessionCost(state: UsageState, known: KnownLimits, turn?: number): SessionCost {
  const sum = (calls: readonly (Call & { readonly turn: number })[]): Cost =>
    calls
      .filter((call) => turn === undefined || call.turn === turn)
      .reduce((total, call) => add(total, costOf(call, known)), free);
  const [ran, beside] = [ownSteps(state), ownBeside(state)];
  const steps = sum(ran);
  const retries = sum(beside.filter(({ kind }) => kind === "retry"));
  const compactions = sum(beside.filter(({ kind }) => kind === "compaction"));
  const total = [retries, compactions].reduce(add, steps);
  const whole = { steps, retries, compactions, total };
  if (state.inherited === undefined || turn !== undefined) return whole;
  const shared = state.steps.slice(0, state.steps.length - ran.length);
  return {
    ...whole,
    inherited: sum([...shared, ...state.beside.slice(0, state.inherited.beside)]),
  };
}

/** What the running step has spent, when the provider does not say: its prompt and what it has said. */
export function estimateSpent({ running }: UsageState, history: HistoryState): TokenUsage {
  // Between a failed attempt whose spending was told and the next one.
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
