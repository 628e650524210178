/** Writes a consistent store from what is good of a damaged one. */

export { BatchWriter } from "./batch-writer.ts";
export type { LostBlob } from "./blob-survey.ts";
export { type RepairOptions, repairLog } from "./repair-log.ts";
export type { RepairReport, RepairedSession } from "./repair-report.ts";
