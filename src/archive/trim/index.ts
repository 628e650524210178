/** Drops the deltas and old results of sessions that take too much space. */

export { type TrimLogOptions, type TrimmedLog, trimLog, trimLogSchema } from "./trim-log.ts";
