/** `turn.*`: from the delivery of input until the session is idle again. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import { storedErrorSchema, type StoredError } from "./json.ts";

/** Why a turn ended. */
export type TurnEndReason =
  | "stop"
  | "length"
  | "content-filter"
  | "max-steps"
  | "cancelled"
  | "failed"
  | "interrupted"
  /** The turn's time was up. */
  | "timed-out"
  /** The model did or said the same again and again. */
  | "repeating";

/** `now` stops what runs; `after-tools` lets the step and its tools come to their end. */
export type CancelMode = "now" | "after-tools";

/** What a turn may not have more of. */
type TurnLimit = "time" | "repetition";

export interface TurnFamily {
  /** The limit on steps is in the event, so that the machine needs no configuration to replay. */
  "turn.started": { readonly turn: number; readonly maxSteps: number };
  "turn.cancel-requested": {
    readonly turn: number;
    /** Default `now`. */
    readonly mode?: CancelMode;
    readonly reason?: string;
  };
  /** With `lastStep`, one more step is granted, in which the model may conclude and call no tools. */
  "turn.limit-reached": {
    readonly turn: number;
    readonly limit: TurnLimit;
    readonly lastStep: boolean;
  };
  "turn.ended": {
    readonly turn: number;
    readonly reason: TurnEndReason;
    readonly error?: StoredError;
  };
}

const turn = z.int().positive();

/** Parses {@link TurnEndReason}. */
export const turnEndReasonSchema: z.ZodType<TurnEndReason> = z.enum([
  "stop",
  "length",
  "content-filter",
  "max-steps",
  "cancelled",
  "failed",
  "interrupted",
  "timed-out",
  "repeating",
]);

export const turnSchemas: FamilySchemas<TurnFamily> = {
  "turn.started": z.looseObject({ turn, maxSteps: z.int().positive() }),
  "turn.cancel-requested": z.looseObject({
    turn,
    mode: z.enum(["now", "after-tools"]).exactOptional(),
    reason: z.string().exactOptional(),
  }),
  "turn.limit-reached": z.looseObject({
    turn,
    limit: z.enum(["time", "repetition"]),
    lastStep: z.boolean(),
  }),
  "turn.ended": z.looseObject({
    turn,
    reason: turnEndReasonSchema,
    error: storedErrorSchema.exactOptional(),
  }),
};
