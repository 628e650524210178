/** Lifecycle callbacks and telemetry of a live session. */

export { TurnLifecycle } from "./turn-lifecycle.ts";
