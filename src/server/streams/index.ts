/** Server-sent events: written as fast as the reader takes them. */

export {
  eventStream,
  withProblem,
  type ServerSentEvent,
  type StreamSettings,
} from "./event-stream.ts";
