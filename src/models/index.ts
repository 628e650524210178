/** Models without a network: the offline model, scripted models, and models that replay a log. */

export { offlineModel } from "./offline-model.ts";
export {
  type Pace,
  type PaceTime,
  type ReplayPace,
  atOnce,
  recordedPace,
  recordedError,
  replayModel,
} from "./replay-model.ts";
export {
  type RecordedCall,
  isReported,
  isStop,
  isTimeUp,
  recordedCalls,
  replayedUsage,
} from "./replayed-parts.ts";
export {
  type Script,
  type ScriptedModel,
  scriptedModel,
  type ScriptedPart,
  type ScriptedStep,
  type ScriptedToolCall,
  gate,
} from "./scripted-model.ts";
