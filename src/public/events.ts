/** The entry `turnlog/events`: the catalogue, the codec and the port of the log. Loads no database. */

export {
  type Codec,
  type EventLog,
  type GlobalEvent,
  type NewEvent,
  type SessionEvent,
  TurnlogError,
  assertAppendable,
  createCodec,
} from "../events/index.ts";
