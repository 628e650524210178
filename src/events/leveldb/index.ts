/** The log on LevelDB. Loads the database; `turnlog/events` does not. */

export { openLog, type Durability, type OpenLogOptions } from "./open-store.ts";
export { openMemoryLog } from "./open-memory.ts";
export { repairLog } from "./repair.ts";
export type { RepairedSession, RepairReport } from "./repair-report.ts";
