/** The face of `turnlog/testing`: for tests of your own agents and of your own event logs. */

export {
  gate,
  recordedPace,
  replayModel,
  scriptedModel,
  type Gate,
  type Pace,
  type PaceOptions,
  type PaceTime,
  type ReplayModel,
  type ReplayPace,
  type Script,
  type ScriptedBlock,
  type ScriptedDelta,
  type ScriptedGate,
  type ScriptedModel,
  type ScriptedPart,
  type ScriptedStep,
  type ScriptedToolCall,
} from "../models/index.ts";
export type { AllowedDifference } from "./allowed-differences.ts";
export { blobStoreContract, type BlobStoreContract } from "./blob-store-contract.ts";
export { eventLogContract, type ContractRunner } from "./event-log-contract.ts";
export { keyStoreContract } from "./key-store-contract.ts";
export { promptProblems, type PromptProblem, type PromptRule } from "./prompt-problems.ts";
export { replay, type ReplayedAgent, type ReplayOptions, type ReplayResult } from "./replay.ts";
export { differenceText, type ReplayDifference } from "./replay-difference.ts";
export { replayTools } from "./replay-tools.ts";
export {
  sessionMatchers,
  type ExpectedCall,
  type MatcherAnswer,
  type SessionMatchers,
} from "./session-matchers.ts";
export {
  sessionPaths,
  walkBeginning,
  walkMoves,
  walkOn,
  type WalkBounds,
  type WalkCall,
  type WalkMove,
  type WalkPath,
  type WalkSituation,
  type WalkStep,
} from "./session-walk.ts";
export { walkSession, type WalkSessionOptions } from "./walk-session.ts";
