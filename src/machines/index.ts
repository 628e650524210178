/** The face of `machines`: the session statechart and how it is folded over a log. */

export type { Effect } from "./effect.ts";
export {
  initialMachineState,
  machineFold,
  resolveMachineState,
  type MachineStep,
} from "./machine-fold.ts";
export { machineStateSchema, type MachineState } from "./machine-state.ts";
export { openCalls, type CallState, type SessionContext } from "./session-context.ts";
export { sessionMachine } from "./session-machine.ts";
export type { SessionMachine, SessionStateValue } from "./session-machine-type.ts";
export {
  isStructural,
  structuralTypes,
  type StructuralEvent,
  type StructuralType,
} from "./structural-events.ts";
