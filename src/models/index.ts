/** Models without a network: the offline model, scripted models, and models that replay a log. */

export { offlineModel } from "./offline-model.ts";
export { type Pace, type PaceTime, type ReplayPace, atOnce, recordedPace } from "./replay-model.ts";
export { recordedError } from "./replay-model.ts";
export { isStop, isTimeUp } from "./replayed-parts.ts";
export { replayModel } from "./replay-model.ts";
export { isReported, replayedUsage } from "./replayed-parts.ts";
export { type Script, type ScriptedModel, scriptedModel } from "./scripted-model.ts";
export {
  type Gate,
  type ScriptedPart,
  type ScriptedStep,
  type ScriptedToolCall,
  gate,
} from "./scripted-model.ts";
