/** The entry `turnlog/testing`: tools for testing your own agents and your own event logs. */

export {
  type ScriptedModel,
  gate,
  recordedPace,
  replayModel,
  scriptedModel,
} from "../models/index.ts";
export { compare, htmlOf } from "../compare/index.ts";
export { replay, replayTools } from "../replay/index.ts";
export { dueAt } from "../runtime/index.ts";
export {
  type SessionMatchers,
  blobStoreContract,
  eventLogContract,
  keyStoreContract,
  ownershipContract,
  promptProblems,
  sessionMatchers,
} from "../testing/index.ts";
