/** Subscriptions to a session: the past from the log, then the newest rows from memory, in any store. */

export { LiveTail } from "./live-tail.ts";
export { type Source, subscription } from "./subscription.ts";
