/** Trims stored sessions: drops delta boundaries or reasoning of old steps to save space. */

export { type TrimLogOptions, type TrimmedLog, trimLog, trimLogSchema } from "./trim-log.ts";
