/** Small helpers of several modules that no library offers: JSON, timers, abort signals. */

export {
  type FirstAbort,
  defer,
  firstAbort,
  onAbort,
  unlessAborted,
  untilAborted,
} from "./abort.ts";
export { Background, untilDone } from "./background.ts";
export { withFullStop } from "./text.ts";
export { readableError, toJson, toStoredError, unreadable } from "./json-value.ts";
export { withMessages } from "./text.ts";
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
export { assertNodeVersion } from "./optional-package.ts";
export { optionalPackage } from "./optional-package.ts";
export { streamOf } from "./stream.ts";
export { textLines } from "./text.ts";
export { Unfinished } from "./background.ts";
export { plainEvents, withPlainEvents } from "./plain-events.ts";
export { wellFormed } from "./text.ts";
