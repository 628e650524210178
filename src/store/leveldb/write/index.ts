/** Appends events and commits them in groups. */

export { Appender } from "./appender.ts";
export { Committer } from "./committer.ts";
export { forkCopy } from "./fork-copy.ts";
