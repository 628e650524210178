/** Writes a consistent store from the good parts of a damaged one. */

export { repairLog } from "./repair-log.ts";
export type { RepairReport } from "./repair-report.ts";
