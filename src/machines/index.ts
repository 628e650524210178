/**
 * The statechart, which decides what may happen next in a session. Only logged events move it. Pure; it runs
 * nothing.
 */

export {
  type Effect,
  type MachineStep,
  initialMachineState,
  isBetweenTurns,
  isHeld,
  isWaiting,
  machineFold,
  resolveMachineState,
  type MachineState,
} from "./machine-fold.ts";
export {
  type CallState,
  type HeldBudget,
  type SessionContext,
  endReason,
  openCalls,
} from "./session-context.ts";
export { sessionMachine } from "./session-machine.ts";
export {
  type StructuralEvent,
  type StructuralType,
  isStructural,
  structuralTypes,
} from "./structural-events.ts";
