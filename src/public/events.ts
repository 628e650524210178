/** The entry `turnlog/events`: the catalogue, the codec and the port of the log. Loads no database. */

export {
  type AppendOptions,
  type Appended,
  type CursorStore,
  type DeleteOptions,
  type Deleted,
  type EventBody,
  type EventLog,
  type EventType,
  type ForkEvents,
  type GlobalEvent,
  type NewEvent,
  type ReadRange,
  type SessionEntry,
  type SessionEvent,
  type Snapshot,
  TurnlogError,
  assertAppendable,
  createCodec,
  eventSchemas,
} from "../events/index.ts";
