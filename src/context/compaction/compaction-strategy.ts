/** The interface of compaction strategies: pure proposals, which the runtime checks and records. */

import type { LanguageModel } from "ai";
import type { ContextView, HistoryState } from "../../projections/index.ts";
import type { FailureKind, FinishReason, SummaryProblem, SummaryRung } from "../../events/index.ts";
import type { Meter } from "../estimate/message-size.ts";

/** A range of positions (both included) and the text that replaces it. */
export interface CompactionPlan {
  readonly covers: { readonly from: number; readonly to: number };
  readonly summary: string;
}

/** The token budget of a plan. */
export interface PlanBudget {
  /** Measures messages for the model of the prompt. */
  readonly meter: Meter;
  /** The model's factor (`calibrationFactor`). */
  readonly factor: number;
  /** The most tokens of messages before the next compaction: the limit without instructions and tools. */
  readonly messageTokens?: number;
  /** The most tokens of messages that the window allows, without instructions and tools. */
  readonly windowTokens?: number;
}

/**
 * One way of compacting. `plan` must be pure; undefined: there is nothing to do. No budget: use defaults.
 * @example
 * // Drops everything before the newest request.
 * const newest: CompactionStrategy = {
 *   name: "newest",
 *   plan: ({ items }) => {
 *     const request = items.findLast(({ kind }) => kind === "user");
 *     if (request === undefined || request.position < 2) return undefined;
 *     return { covers: { from: 1, to: request.position - 1 }, summary: "Earlier messages were dropped." };
 *   },
 * };
 */
export interface CompactionStrategy {
  readonly name: string;
  /**
   * Whether the plan is used unchanged. Otherwise, if the prompt would lose the running request, the request is
   * added to the summary word by word: the messages of the newest turn and of the work that it continues.
   */
  readonly forgetsRequest?: true;
  plan(history: HistoryState, view: ContextView, budget?: PlanBudget): CompactionPlan | undefined;
  /** Asks a model for the summary. In that case the result of `plan` is the last resort. */
  readonly writer?: SummaryWriter;
}

/** Makes the request for a summary and reads the reply. Pure. */
export interface SummaryWriter {
  /** Default: the agent's model, or the one that takes over from it. */
  readonly model?: LanguageModel | undefined;
  /** The model that is asked next after a failure of that kind. Default: by the agent's `fallback`. */
  readonly successor?: ((kind: FailureKind) => LanguageModel | undefined) | undefined;
  /** Undefined if there is nothing to summarise. `mostTokens`: of the request, if the model's window is known. */
  request(
    rung: SummaryRung,
    history: HistoryState,
    view: ContextView,
    budget: PlanBudget,
    mostTokens?: number,
  ): SummaryRequest | undefined;
}

export interface SummaryRequest {
  readonly covers: CompactionPlan["covers"];
  readonly instructions: string;
  readonly prompt: string;
  /** Tokens of instructions and prompt. */
  readonly tokens: number;
  /** The most tokens of the reply. */
  readonly maxTokens: number;
  read(reply: SummaryReply): { readonly summary: string } | { readonly problem: SummaryProblem };
}

/** `calledTools`: the model called tools instead. */
export interface SummaryReply {
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly calledTools: boolean;
}
