/** For tests of agents and of event logs: replay, contract suites, matchers. */

export type { AllowedDifference } from "./allowed-differences.ts";
export { type BlobStoreContract, blobStoreContract } from "./blob-store-contract.ts";
export { type ContractRunner, eventLogContract } from "./event-log-contract.ts";
export { keyStoreContract } from "./key-store-contract.ts";
export {
  alone,
  appendInTurn,
  fails,
  forked,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
  take,
} from "./log-samples.ts";
export { type PromptProblem, type PromptRule, promptProblems } from "./prompt-problems.ts";
export { type ReplayDifference, differenceText } from "./replay-difference.ts";
export { replayTools } from "./replay-tools.ts";
export { type ReplayOptions, type ReplayResult, type ReplayedAgent, replay } from "./replay.ts";
export {
  type ExpectedCall,
  type MatcherAnswer,
  type SessionMatchers,
  sessionMatchers,
} from "./session-matchers.ts";
export {
  type WalkBounds,
  type WalkCall,
  type WalkMove,
  type WalkPath,
  type WalkSituation,
  type WalkStep,
  sessionPaths,
  walkBeginning,
  walkMoves,
  walkOn,
} from "./session-walk.ts";
export { type WalkSessionOptions, walkSession } from "./walk-session.ts";
export { wrapLog } from "./wrapped-log.ts";
