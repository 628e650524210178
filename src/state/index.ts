/** The state of a session at a position: all folds together, snapshots, views, differences, recovery. */

export {
  EVENTS_PER_SNAPSHOT,
  foldedStates,
  isDue,
  keepStates,
  type SnapshotStore,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  storedBlobs,
  storedPositions,
} from "./snapshot.ts";
export type { KeptState } from "./snapshot-chunks.ts";
export {
  isUnerased,
  lineRevisions,
  type LineRevisions,
  linkOf,
  type SessionBranch,
  sessionBranches,
} from "./branches.ts";
export type { HeldBudget } from "../machines/index.ts";
export {
  type WaitingQuestion,
  inbox,
  type SessionQuery,
  type SessionRow,
  bothMetadata,
  differentKey,
  inOrder,
  querySessions,
  timeOf,
  withQuestions,
} from "./list.ts";
export {
  attemptsAt,
  hasUnknownAttempt,
  effectIdOf,
  heldBudget,
  inFlight,
  calledTools,
  isAtRest,
  isIdle,
  isInTurn,
  settlement,
  waitsForPerson,
} from "./recovery.ts";
export {
  type OutputRequest,
  type RequestedCall,
  requestedCalls,
  waitingOutputs,
  type Approval,
  approvalOfId,
  waitingApprovals,
} from "./approvals.ts";
export { projectedAt, projectedFrom, type Projected, type ProjectionReader } from "./projected.ts";
export { stepResults } from "./step-result.ts";
export {
  type SessionDiff,
  diffSession,
  type KeepSummary,
  type ListedSession,
  type SessionView,
  absentSession,
  checkPosition,
  missingSession,
  listedSession,
  listSessions,
  outlineOf,
  problemOf,
  readSessionState,
  readSummary,
  stateAt,
  viewOf,
  viewSession,
  waitsForAnswer,
  type DescribedCall,
  describedCalls,
  withSnapshots,
} from "./view.ts";
export { boundaryAt, isAtBoundary } from "./boundaries.ts";
export { type RerunPlace, type RerunPoint, rerunPoint } from "./rerun-point.ts";
export {
  canRewind,
  type SessionRecorder,
  type SessionState,
  foldJoined,
  foldSession,
  initialSessionState,
  unfitting,
} from "./session-state.ts";
export {
  childrenOf,
  childrenToDelete,
  subAgentsOf,
  type SubAgent,
  type SubAgents,
} from "./sub-agents.ts";
export { SessionLists, summaryKeeper } from "./session-index.ts";
