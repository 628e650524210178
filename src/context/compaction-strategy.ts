/**
 * How a compaction is planned: a pure look at the history that proposes what to cover and what to
 * show in its place. It changes nothing; the runtime decides and records.
 */

import type { LanguageModel } from "ai";
import type { ContextView, HistoryState } from "../projections/index.ts";
import type { FinishReason, SummaryProblem, SummaryRung } from "../events/index.ts";
import type { Meter } from "./message-size.ts";

/** A stretch of the log (positions, both included) and the text that is to stand for it. */
export interface CompactionPlan {
  readonly covers: { readonly from: number; readonly to: number };
  /** Empty to show nothing in its place. */
  readonly summary: string;
}

/** What a plan may go by, beside the history. */
export interface PlanBudget {
  /** Measures messages for the model that is to read them. */
  readonly meter: Meter;
  /** The model's factor (`calibrationFactor`). */
  readonly factor: number;
  /** Tokens that messages may have before the next compaction: the limit without instructions and tools. */
  readonly messageTokens?: number;
  /** Tokens that messages may have at most: the model takes no more beside instructions and tools. */
  readonly windowTokens?: number;
}

/**
 * One way of compacting. `plan` must be pure and may answer that there is nothing to do. Without a
 * ground it goes by what is usual.
 */
export interface CompactionStrategy {
  readonly name: string;
  plan(history: HistoryState, view: ContextView, budget?: PlanBudget): CompactionPlan | undefined;
  /** Asks a model for the words of the summary. What `plan` answers is the last resort then. */
  readonly writer?: SummaryWriter;
}

/** How a model is asked for a summary, and what of its reply is taken. Pure. */
export interface SummaryWriter {
  /** Default: the agent's own. */
  readonly model?: LanguageModel;
  /**
   * What to ask, undefined where there is nothing to summarise.
   * @param room tokens that a request may have, where the window of the model is known.
   */
  request(
    rung: SummaryRung,
    history: HistoryState,
    view: ContextView,
    budget: PlanBudget,
    room?: number,
  ): SummaryRequest | undefined;
}

/** What a model is asked for a summary with. */
export interface SummaryRequest {
  readonly covers: CompactionPlan["covers"];
  readonly instructions: string;
  readonly prompt: string;
  /** Tokens of the two. */
  readonly tokens: number;
  /** Tokens that the reply may have. */
  readonly maxTokens: number;
  /** The summary as it is to stand in the prompt, or what is wrong with the reply. */
  read(reply: SummaryReply): { readonly summary: string } | { readonly problem: SummaryProblem };
}

/**
 * What a model answered that was asked for a summary; `calledTools` where it did something else
 * instead.
 */
export interface SummaryReply {
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly calledTools: boolean;
}
