/** Subscriptions to one session or to all: the past from the log, then what is written, in any store. */

export { type GlobalSource, globalSubscription } from "./global-subscription.ts";
export { LiveTail } from "./live-tail.ts";
export { type Source, subscription } from "./subscription.ts";
