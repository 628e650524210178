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
  | "interrupted";

export interface TurnFamily {
  /** The limit on steps is in the event, so that the machine needs no configuration to replay. */
  "turn.started": { readonly turn: number; readonly maxSteps: number };
  "turn.cancel-requested": { readonly turn: number; readonly reason?: string };
  "turn.ended": {
    readonly turn: number;
    readonly reason: TurnEndReason;
    readonly error?: StoredError;
  };
}

const turn = z.int().positive();

export const turnSchemas: FamilySchemas<TurnFamily> = {
  "turn.started": z.looseObject({ turn, maxSteps: z.int().positive() }),
  "turn.cancel-requested": z.looseObject({ turn, reason: z.string().exactOptional() }),
  "turn.ended": z.looseObject({
    turn,
    reason: z.enum([
      "stop",
      "length",
      "content-filter",
      "max-steps",
      "cancelled",
      "failed",
      "interrupted",
    ]),
    error: storedErrorSchema.exactOptional(),
  }),
};
