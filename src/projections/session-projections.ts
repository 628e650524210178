/**
 * The projections of every session. The lists here determine a session's state, its snapshots, and the states
 * that a rewind restores.
 */

import type { SessionEvent } from "../events/index.ts";
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
import { standing, type StandingState } from "./standing.ts";
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
  readonly standing: StandingState;
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
  standing,
};

export const projectionNames: readonly (keyof ProjectedState)[] = Object.keys(
  sessionProjections,
).filter((name): name is keyof ProjectedState => Object.hasOwn(sessionProjections, name));

// The names and the states are those of the list.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const initialProjectedState = Object.fromEntries(
  Object.entries(sessionProjections).map(([name, { initial }]) => [name, initial]),
) as unknown as ProjectedState;

/** The states that follow the branch, without the history: a rewind brings them back. */
export type BranchStates = Pick<ProjectedState, "view" | "calibration" | "compactions" | "counts">;

export function branchStates({
  view,
  calibration,
  compactions,
  counts,
}: BranchStates): BranchStates {
  return { view, calibration, compactions, counts };
}

type OfBranch = "history" | keyof BranchStates;

// Written out: a loop over the names would add a tenth to the time of each event.
export function foldedByBranch(
  state: ProjectedState,
  event: SessionEvent,
): Pick<ProjectedState, OfBranch> {
  return {
    history: history.fold(state.history, event),
    view: contextView.fold(state.view, event),
    calibration: calibration.fold(state.calibration, event),
    compactions: compactions.fold(state.compactions, event),
    counts: promptCounts.fold(state.counts, event),
  };
}

export function foldedByLog(
  state: ProjectedState,
  event: SessionEvent,
): Omit<ProjectedState, OfBranch> {
  return {
    usage: usage.fold(state.usage, event),
    toolCalls: toolCalls.fold(state.toolCalls, event),
    queue: queue.fold(state.queue, event),
    approvals: approvals.fold(state.approvals, event),
    learnedLimits: learnedLimits.fold(state.learnedLimits, event),
    summary: sessionSummary.fold(state.summary, event),
    blobs: blobs.fold(state.blobs, event),
    branches: branches.fold(state.branches, event),
    appended: appended.fold(state.appended, event),
    standing: standing.fold(state.standing, event),
  };
}
