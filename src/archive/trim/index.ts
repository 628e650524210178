/** Drops the deltas and old results of sessions that take too much space. */

export type { KeptSteps } from "./old-steps.ts";
export {
  type CompactLogOptions,
  type CompactedLog,
  compactLog,
  compactLogSchema,
} from "./trim-log.ts";
