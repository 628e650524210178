/** Reads events by session and in global order, past and live. */

export { ancestors, type OwnedRange } from "./ancestors.ts";
export { Following } from "./following.ts";
export { horizon, readGlobal } from "./global-order.ts";
export { Reading } from "./reading.ts";
