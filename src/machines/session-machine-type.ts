/** The type of the session machine, written out: the inferred one fills the published types with the whole chart. */

import type {
  EventObject,
  MetaObject,
  NonReducibleUnknown,
  ParameterizedObject,
  StateMachine,
  StateSchema,
} from "xstate";
import type { SessionContext } from "./session-context.ts";
import type { StructuralEvent } from "./structural-events.ts";

/** The states and substates by name. */
export type SessionStateValue =
  | "tools"
  | "compacting"
  | "resuming"
  | "closed"
  | { idle: "waiting" | "starting" }
  | {
      streaming:
        | "deciding"
        | "boundary"
        | "held"
        | "calling"
        | "backingOff"
        | "overflowed"
        | "stepped"
        | "ending";
    };

/** The type of {@link sessionMachine}, for tools of XState that take a machine. */
export type SessionMachine = StateMachine<
  SessionContext,
  StructuralEvent,
  // XState's own type for "no children" is the empty object.
  {},
  never,
  ParameterizedObject,
  ParameterizedObject,
  never,
  SessionStateValue,
  string,
  NonReducibleUnknown,
  NonReducibleUnknown,
  EventObject,
  MetaObject,
  StateSchema
>;
