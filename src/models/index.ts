/** The face of `models`: language models of ours that need no network. */
export { gate, type Gate } from "./gate.ts";
export { offlineModel, type OfflineModelOptions } from "./offline-model.ts";
export { scriptedModel, type Script, type ScriptedModel } from "./scripted-model.ts";
export type {
  ScriptedBlock,
  ScriptedDelta,
  ScriptedGate,
  ScriptedPart,
  ScriptedStep,
  ScriptedToolCall,
} from "./scripted-step.ts";
export { recordedError } from "./recorded-error.ts";
export { replayedUsage } from "./replayed-parts.ts";
export {
  atOnce,
  recordedPace,
  type Pace,
  type PaceOptions,
  type PaceTime,
  type ReplayPace,
} from "./pacing.ts";
export { isStop, isTimeUp } from "./recorded-step.ts";
export { replayModel, type ReplayModel } from "./replay-model.ts";
