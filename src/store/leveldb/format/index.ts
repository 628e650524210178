/** Reads LevelDB's own files, for checks and repair. */

export { damageInLog, rowsOfLog } from "./log-file.ts";
export { readManifest } from "./manifest.ts";
export type { FileDamage, FileRow } from "./row.ts";
export { damageInTable, rowsOfTable } from "./table-file.ts";
