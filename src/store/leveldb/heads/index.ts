/** The newest state of each session in memory: last position, lineage, rows that are not merged yet. */

export { Batch } from "./batch.ts";
export { findIds, positionsSchema } from "./event-ids.ts";
export type { BatchShare, Head } from "./head.ts";
export { Heads } from "./heads.ts";
export { IndexRows } from "./index-rows.ts";
export { Lineage, type OwnedRange, ownFrom } from "./lineage.ts";
export { LooseCommits } from "./loose-commits.ts";
