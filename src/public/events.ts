/** The entry `turnlog/events`: the catalogue and the codec. Loads no database. */

export {
  type Codec,
  type GlobalEvent,
  type NewEvent,
  type SessionEvent,
  TurnlogError,
  assertAppendable,
  createCodec,
} from "../events/index.ts";
