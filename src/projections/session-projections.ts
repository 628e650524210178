/** The projections of every session. The type of a state and the version of its snapshots follow from this list. */

import { appended, type AppendedState } from "./appended.ts";
import { approvals, type ApprovalsState } from "./approvals.ts";
import { blobs, type BlobsState } from "./blobs.ts";
import { branches, type BranchesState } from "./branches.ts";
import { calibration, type CalibrationState } from "./calibration.ts";
import { compactions, type CompactionsState } from "./compactions.ts";
import { contextView, type ContextView } from "./context-view.ts";
import type { HistoryState } from "./history-item.ts";
import { history } from "./history.ts";
import { learnedLimits, type LearnedLimits } from "./learned-limits.ts";
import type { Projection } from "./projection.ts";
import { promptCounts, type PromptCounts } from "./prompt-counts.ts";
import { queue, type QueueState } from "./queue.ts";
import { sessionSummary, type SessionSummary } from "./session-summary.ts";
import { toolCalls, type ToolCallsState } from "./tool-calls.ts";
import { usage, type UsageState } from "./usage.ts";

export interface ProjectedState {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly usage: UsageState;
  readonly toolCalls: ToolCallsState;
  readonly queue: QueueState;
  readonly approvals: ApprovalsState;
  readonly calibration: CalibrationState;
  readonly compactions: CompactionsState;
  readonly learnedLimits: LearnedLimits;
  readonly counts: PromptCounts;
  readonly summary: SessionSummary;
  readonly blobs: BlobsState;
  readonly branches: BranchesState;
  readonly appended: AppendedState;
}

/** The order is part of the version of stored snapshots. */
export const sessionProjections: {
  readonly [Name in keyof ProjectedState]: Projection<ProjectedState[Name]>;
} = {
  history,
  view: contextView,
  usage,
  toolCalls,
  queue,
  approvals,
  calibration,
  compactions,
  learnedLimits,
  counts: promptCounts,
  summary: sessionSummary,
  blobs,
  branches,
  appended,
};
