/** Small helpers of several modules that no library offers: JSON, timers, abort signals. */

export {
  type FirstAbort,
  defer,
  firstAbort,
  onAbort,
  unlessAborted,
  untilAborted,
} from "./abort.ts";
export { Background, isOutage, untilDone, Unfinished } from "./background.ts";
export { isJson, withFullStop, withMessages, textLines, wellFormed } from "./text.ts";
export { atOnce, readableError, toJson, toStoredError, unreadable } from "./json-value.ts";
export {
  DEFAULT_GRACE_MS,
  LONGEST_TIMEOUT_MS,
  type ModelLimit,
  type Timer,
  type Wait,
  after,
  settledWithin,
  systemTimer,
  waited,
} from "./timer.ts";
export { OneByOne, pagesOf } from "./one-by-one.ts";
export { streamOf } from "./stream.ts";
export { assertNodeVersion, optionalPackage } from "./optional-package.ts";
export { isAsyncIterable, plainEvents, withPlainEvents } from "./plain-events.ts";
