/** Folds logged events into the machine's state and hands out the effects that each one asks for. */

import { createActor, initialTransition, type SnapshotFrom } from "xstate";
import {
  type SessionEvent,
  type TurnEndReason,
  chunkedSchema,
  turnEndReasonSchema,
} from "../events/index.ts";
import { sessionMachine } from "./session-machine.ts";
import { isStructural } from "./structural-events.ts";
import { z } from "zod";
import type { SessionContext } from "./session-context.ts";
import type { SessionStateValue } from "./session-machine-type.ts";

export interface MachineStep {
  readonly snapshot: SnapshotFrom<typeof sessionMachine>;
  readonly effects: readonly Effect[];
}

const none: readonly Effect[] = [];

type Scope = Parameters<typeof sessionMachine.transition>[2];

/** What the machine wants executed in the transition under way; emptied before each. */
const wanted: { readonly type: string }[] = [];

// `transition()` of XState builds an actor for each event, at three times the cost of the transition.
// One that is never started serves them all: nothing runs in it, and nobody can send to it.
const inert = createActor(sessionMachine);
const scope: Scope = {
  self: inert,
  system: inert.system,
  id: inert.id,
  sessionId: inert.sessionId,
  logger: () => {},
  defer: () => {},
  emit: () => {},
  stopChild: () => {},
  actionExecutor: (action) => wanted.push(action),
};

/** The state of a session without events. */
export const initialMachineState: SnapshotFrom<typeof sessionMachine> =
  initialTransition(sessionMachine)[0];

/** The next state and what has to be done in it. Pure; events that do not concern it change nothing. */
export function machineFold(
  snapshot: SnapshotFrom<typeof sessionMachine>,
  event: SessionEvent,
): MachineStep {
  if (!isStructural(event)) return { snapshot, effects: none };
  wanted.length = 0;
  const next = sessionMachine.transition(snapshot, event, scope);
  return { snapshot: next, effects: wanted.length === 0 ? none : wanted.filter(isEffect) };
}

/** A live snapshot of a stored state. Re-runs nothing. */
export function resolveMachineState(state: MachineState): SnapshotFrom<typeof sessionMachine> {
  return sessionMachine.resolveState(state);
}

export type Effect =
  /** Begin a turn with the waiting messages: `turn.started`. */
  | { readonly type: "startTurn" }
  /** Deliver what is due and begin a step: `message.delivered`, `step.started`. */
  | { readonly type: "startStep" }
  /** Call the model: parts, then `step.finished`, `step.failed`, `step.interrupted` or `step.retrying`. */
  | { readonly type: "callModel" }
  /** Wait, then `step.started` with the next attempt. */
  | { readonly type: "backOff" }
  /** After a prompt that was too long: compact and try once more, or give the step up. */
  | { readonly type: "freeContext" }
  /** Bring every call of the step to its end. Safe to ask for again. */
  | { readonly type: "runTools" }
  /** Run the compaction: `context.compacted` or `context.compaction-rejected`. */
  | { readonly type: "compact" }
  /** Stop what runs; it says itself how it ended. */
  | { readonly type: "abort" }
  /** Record what a dead process cannot say any more. */
  | { readonly type: "settle" }
  /** `turn.ended`. */
  | { readonly type: "endTurn"; readonly params: { readonly reason: TurnEndReason } };

const types: Readonly<Record<Effect["type"], true>> = {
  startTurn: true,
  startStep: true,
  callModel: true,
  backOff: true,
  freeContext: true,
  runTools: true,
  compact: true,
  abort: true,
  settle: true,
  endTurn: true,
};

/** Tells effects apart from the assignments that XState returns beside them. */
function isEffect(action: { readonly type: string }): action is Effect {
  return Object.hasOwn(types, action.type);
}

/** Where the session machine stands: its state value as XState has it, and what it remembers. */
export interface MachineState {
  readonly value: SessionStateValue;
  readonly context: SessionContext;
}

const valueSchema: z.ZodType<SessionStateValue> = z.union([
  z.enum(["tools", "compacting", "resuming", "closed"]),
  z.object({ idle: z.enum(["waiting", "starting"]) }),
  z.object({
    streaming: z.enum([
      "deciding",
      "boundary",
      "calling",
      "backingOff",
      "overflowed",
      "stepped",
      "ending",
    ]),
  }),
]);

// What is undefined is absent in JSON: both come back as undefined.
const contextSchema = z
  .object({
    turn: z.int(),
    step: z.int(),
    attempt: z.int(),
    stepsInTurn: z.int(),
    maxSteps: z.int(),
    queue: z.array(z.object({ id: z.string(), delivery: z.enum(["steer", "follow-up"]) })),
    held: z.boolean(),
    calls: chunkedSchema(
      z.enum(["waiting", "awaiting-approval", "approved", "refused", "running", "ended"]),
    ),
    skipCalls: z.boolean(),
    finishReason: z
      .enum(["stop", "length", "content-filter", "tool-calls", "error", "other", "interrupted"])
      .optional(),
    stopping: turnEndReasonSchema.optional(),
    lastStep: z.object({ reason: turnEndReasonSchema, begun: z.boolean() }).optional(),
    recoveries: z.int(),
    compactingFrom: z.enum(["idle", "boundary", "overflow"]),
  })
  .transform(({ finishReason, stopping, lastStep, ...rest }): SessionContext => ({
    ...rest,
    finishReason,
    stopping,
    lastStep,
  }));

export const machineStateSchema: z.ZodType<MachineState> = z.object({
  value: valueSchema,
  context: contextSchema,
});
