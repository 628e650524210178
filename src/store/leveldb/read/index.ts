/** Reads events by session and in global order, past and live. */

export { type CheckedChain, chainEnd, checkChain, lastChecked } from "./chain-check.ts";
export { Following } from "./following.ts";
export { readGlobal } from "./global-reader.ts";
export { Reading } from "./reading.ts";
export { ScannedDatabase } from "./scans.ts";
export { type SharedSource, readShared } from "./shared-reader.ts";
export { SnapshotReader, snapshotIn, snapshotRow } from "./snapshots.ts";
