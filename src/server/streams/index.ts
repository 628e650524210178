/** Server-sent events: written as fast as the reader takes them. */

export {
  eventStream,
  isEventStream,
  withProblem,
  type ServerSentEvent,
  type StreamSettings,
} from "./event-stream.ts";
