/** Lifecycle callbacks and telemetry, as the AI SDK has them. */

export {
  type Dispatcher,
  dispatcherOf,
  type EventIdentity,
  eventIdentity,
  sessionAttributes,
  type LifecycleEvents,
  type LifecycleName,
  type LifecycleSettings,
  sessionTracer,
  type SpanAttributes,
} from "./dispatcher.ts";
