/** Decides what follows when a provider refuses a prompt as too long. Pure. */

import { unsentMessages, type ContextEstimate } from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { isTooLarge, noUsage } from "../../projections/index.ts";
import { nextEstimate, type PromptSetup } from "./context-figures.ts";
import { compactionChoice, type ContextOptions } from "../../agent/index.ts";
import { budgetBelow, REFUSED_SHARE, refusedLimit, refusedTokens } from "./prompt-limits.ts";
import { cutsNow, omissionNow } from "./headroom.ts";
import type { SessionState } from "../../state/index.ts";

/** How often a step's prompt may be refused before the step fails. */
export const MOST_REFUSALS = 2;
/** Compactions for one step in all. */
const MOST_ATTEMPTS = 3;

export function omissionAfterRefusal(
  state: SessionState,
  setup: PromptSetup,
  now: number,
): EventBody | undefined {
  const { history, machine } = state;
  const { error } = history.open ?? {};
  if (error === undefined || !isTooLarge(error) || machine.context.stopping !== undefined)
    return undefined;
  const estimate = nextEstimate(state, setup, now);
  return omissionNow(state, setup, estimate, REFUSED_SHARE * estimate.bytes);
}

/** The cut of new tool results after a prompt that was too long, and the limit of the prompt then. */
export function cutsAfterOverflow(
  state: SessionState,
  setup: PromptSetup,
  now: number,
): { readonly cut: EventBody; readonly limit: number } | undefined {
  const { machine, compactions } = state;
  const tried = compactions.trigger === "overflow" && compactions.attempts > 0;
  if (tried || machine.context.stopping !== undefined) return undefined;
  const estimate = nextEstimate(state, setup, now);
  const limit = refusedLimit(state, setup, estimate);
  const cut = cutsNow(state, setup, budgetBelow(limit, setup, estimate));
  return cut && { cut, limit };
}

/** The next act after a refusal: a compaction, another attempt (`retry`), or the end of the step. */
export function afterOverflow(
  { machine, compactions, history }: SessionState,
  context: ContextOptions | undefined,
  { hasUnsent, isShorter }: RefusedPrompt = { hasUnsent: false, isShorter: false },
): EventBody | "retry" {
  const { step, stopping } = machine.context;
  const { trigger, outcome, attempts } = compactions;
  const usage = noUsage;
  // Whether a compaction has begun since the refusal.
  const tried = trigger === "overflow" && attempts > 0;
  if (tried && outcome === "recovered") {
    return { type: "step.interrupted", data: { step, reason: "recovered", usage } };
  }
  if (stopping !== undefined || (tried && outcome === "cancelled")) {
    return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
  }
  if (tried && outcome === "compacted") return "retry";
  if (!tried && attempts < MOST_ATTEMPTS) {
    const how = compactionChoice(context)?.how ?? (hasUnsent ? unsentMessages : undefined);
    const data = how && ({ trigger: "overflow", strategy: how.name } as const);
    if (data !== undefined) return { type: "context.compaction-started", data };
  }
  if (isShorter) return "retry";
  const error = history.open?.error ?? { name: "Error", message: "The prompt is too long." };
  return { type: "step.failed", data: { step, kind: "context-overflow", error, usage } };
}

export interface RefusedPrompt {
  /** It has messages that were never answered, and that can be left out without a strategy. */
  readonly hasUnsent: boolean;
  /** It was cut or pruned since, and may fit now. */
  readonly isShorter: boolean;
}

export function refusedPrompt(state: SessionState, setup: PromptSetup, now: number): RefusedPrompt {
  const estimate = nextEstimate(state, setup, now);
  return {
    hasUnsent: hasUnsent(state, setup, estimate),
    isShorter: isShorter(state, estimate),
  };
}

function hasUnsent(state: SessionState, setup: PromptSetup, estimate: ContextEstimate): boolean {
  const { history, view } = state;
  const limit = refusedLimit(state, setup, estimate);
  const budget = budgetBelow(limit, setup, estimate);
  return unsentMessages.plan(history, view, budget) !== undefined;
}

function isShorter(state: SessionState, estimate: ContextEstimate): boolean {
  const { open } = state.history;
  const { prunings, cuts, omissions } = state.view;
  const { tokens, room } = estimate;
  const changes = [...prunings, ...cuts, ...omissions];
  const isSame = !changes.some(({ position }) => position > (open?.position ?? 0));
  if (isSame || tokens >= refusedTokens(state, estimate)) return false;
  return room === undefined || tokens <= room.window;
}
