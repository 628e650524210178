/**
 * How a compaction is planned: a pure look at the history that proposes what to cover and what to
 * show in its place. It changes nothing; the runtime decides and records.
 */

import type { ContextView, HistoryState } from "../projections/index.ts";

/** A stretch of the log (positions, both included) and the text that is to stand for it. */
export interface CompactionPlan {
  readonly covers: { readonly from: number; readonly to: number };
  /** Empty to show nothing in its place. */
  readonly summary: string;
}

/** One way of compacting. `plan` must be pure and may answer that there is nothing to do. */
export interface CompactionStrategy {
  readonly name: string;
  plan(history: HistoryState, view: ContextView): CompactionPlan | undefined;
}
