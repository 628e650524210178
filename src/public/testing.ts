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
export type { AllowedDifference } from "../testing/index.ts";
export { blobStoreContract, type BlobStoreContract } from "../testing/index.ts";
export { eventLogContract, type ContractRunner } from "../testing/index.ts";
export { keyStoreContract } from "../testing/index.ts";
export { promptProblems, type PromptProblem, type PromptRule } from "../testing/index.ts";
export {
  replay,
  type ReplayedAgent,
  type ReplayOptions,
  type ReplayResult,
} from "../testing/index.ts";
export { differenceText, type ReplayDifference } from "../testing/index.ts";
export { replayTools } from "../testing/index.ts";
export {
  sessionMatchers,
  type ExpectedCall,
  type MatcherAnswer,
  type SessionMatchers,
} from "../testing/index.ts";
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
} from "../testing/index.ts";
export { walkSession, type WalkSessionOptions } from "../testing/index.ts";
