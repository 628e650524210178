/** The port of a store of events, and the log on any engine that implements it. */

export { CheckedLog, checkedLog } from "./checked-log.ts";
export type { Engine, Others, SessionHead, Snapshots } from "./engine.ts";
export { Following } from "./following.ts";
