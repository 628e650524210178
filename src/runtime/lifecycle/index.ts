/** Lifecycle callbacks and telemetry of a live session. */

export { TurnLifecycle, type StepSetup } from "./turn-lifecycle.ts";
