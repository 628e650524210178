/** How much of the window a single tool result may take, and all results of a step together. Pure. */

import { z } from "zod";
import { flag, list, optionsOf } from "../validation/index.ts";
import type { PlanBudget } from "./compaction-strategy.ts";

/** When a tool result is too long to be shown whole. */
export interface CutOptions {
  /** Of what messages may have, what one tool result may take: above 0, up to 1. Default 0.25. */
  readonly share?: number;
  /** Names of tools whose results are never cut. */
  readonly keepTools?: readonly string[];
  /** Whether the model is offered the tool that reads what is left out. Default true. */
  readonly reader?: boolean;
}

export const cutSchema: z.ZodType = optionsOf<CutOptions>(
  { share: z.unknown(), keepTools: list, reader: flag },
  {},
);

/** Of what messages may have, what one result may take where the options say nothing. */
const SHARE = 0.25;

/** Of what messages may have, what the results of one step may take together, unless one alone may take more. */
const STEP_SHARE = 0.5;
/** Tokens that messages are taken to have where no window is known: twice what a compaction leaves. */
const USUAL_TOKENS = 80_000;
/** Less would be little more than the note. */
const LEAST_TOKENS = 200;

export interface ResultShare {
  /** Tokens that one result may have. */
  readonly result: number;
  /** Tokens that the results of one step may have. */
  readonly step: number;
}

/** What results may have of a prompt, by what its messages may have. */
export function resultShare(
  { messageTokens = USUAL_TOKENS }: Pick<PlanBudget, "messageTokens">,
  { share = SHARE }: CutOptions = {},
): ResultShare {
  return {
    result: Math.max(LEAST_TOKENS, share * messageTokens),
    step: Math.max(share, STEP_SHARE) * messageTokens,
  };
}

/**
 * Tokens that each of a step's results may have: those that need less leave the rest to the others.
 * @param sizes tokens of the results, whole.
 */
export function resultLimit(sizes: readonly number[], { result, step }: ResultShare): number {
  let left = step;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const even = left / (sizes.length - index);
    if (size > even) return Math.max(LEAST_TOKENS, Math.min(result, even));
    left -= size;
  }
  return result;
}

/** Tokens that a page may have which is read in a step with so many calls: never so many that it is cut. */
export function pageLimit({ result, step }: ResultShare, calls: number): number {
  return Math.max(LEAST_TOKENS, Math.min(result / 2, step / Math.max(1, calls)));
}
