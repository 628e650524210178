/** Lifecycle callbacks and telemetry, as the AI SDK has them. */

export { type Dispatcher, dispatcherOf } from "./dispatcher.ts";
export { type EventIdentity, eventIdentity, sessionAttributes } from "./dispatcher.ts";
export { type LifecycleEvents, type LifecycleName, type LifecycleSettings } from "./dispatcher.ts";
