/** The types of AG-UI 1.0. Nothing loads the protocol's package, and the types of no entry lead here. */

import type { Event, EventType, Interrupt, Message, RunFinishedEvent } from "@ag-ui/core";

/** Its enumeration as texts, and read-only. */
type Plain<Value> = Value extends EventType
  ? `${Value}`
  : Value extends object
    ? { readonly [Key in keyof Value]: Plain<Value[Key]> }
    : Value;

export type AgUiEvent = Plain<Event>;
export type AgUiMessage = Plain<Message>;
export type AgUiInterrupt = Plain<Interrupt>;
export type AgUiPart = Plain<
  Exclude<Extract<Message, { role: "user" }>["content"], string>[number]
>;
/** The run of a request. */
export type AgUiRun = Pick<Plain<RunFinishedEvent>, "threadId" | "runId">;
