/** The entry `turnlog/testing`: for tests of your own agents and of your own event logs. */

export {
  type Script,
  type ScriptedModel,
  type ScriptedStep,
  gate,
  recordedPace,
  replayModel,
  scriptedModel,
} from "../models/index.ts";
export {
  type ReplayOptions,
  type SessionMatchers,
  blobStoreContract,
  eventLogContract,
  keyStoreContract,
  promptProblems,
  replay,
  replayTools,
  sessionMatchers,
  sessionPaths,
  walkSession,
} from "../testing/index.ts";
