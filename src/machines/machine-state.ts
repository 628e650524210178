/** The machine's state as it is compared, shown and stored: plain JSON. */

import { z } from "zod";
import { chunkedSchema, turnEndReasonSchema } from "../events/index.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionStateValue } from "./session-machine-type.ts";

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
