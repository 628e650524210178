/** Appends to sessions: positions, batches, forks. */

export { Appender } from "./appender.ts";
export { Committer } from "./committer.ts";
export { fork } from "./forking.ts";
export { appendStaged } from "./staging.ts";
