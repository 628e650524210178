/** The entry `turnlog/events`: the catalogue and the codec. Loads no database. */

export {
  type GlobalEvent,
  type NewEvent,
  type SessionEvent,
  TurnlogError,
  createCodec,
} from "../events/index.ts";
