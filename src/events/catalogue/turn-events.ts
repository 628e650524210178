/** `turn.*`: from the delivery of user input until the session is idle again. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import { jsonSchema, storedErrorSchema, type JsonValue, type StoredError } from "../values/json.ts";

/** Why a turn ended. */
export type TurnEndReason =
  | "stop"
  | "length"
  | "content-filter"
  | "max-steps"
  | "cancelled"
  | "failed"
  | "interrupted"
  | "timed-out"
  /** The model repeated the same calls or texts. */
  | "repeating"
  /** A condition of the agent's `stopWhen` was met. */
  | "stop-condition"
  /** The next model call would have passed a limit of spending. */
  | "out-of-budget";

/** `now` stops the model and the tools; `after-tools` lets the step and its tools finish. */
export type CancelMode = "now" | "after-tools";

type TurnLimit = "time" | "repetition" | "stop-condition" | "budget";

/** The limit of spending that a turn ended at, or waits at. */
export interface ReachedBudget {
  /** `turn`, `session`, or the key of the metadata whose sessions share the limit. */
  readonly of: string;
  readonly unit: "tokens" | "dollars";
  readonly limit: number;
  readonly spent: number;
  /** The price of the model is not known, so that a limit in dollars cannot be kept. */
  readonly unpriced?: true;
}

export type TurnOutput =
  /** `repaired`: the text was no JSON until a code fence, words around it or trailing commas were left out. */
  | { readonly value: JsonValue; readonly repaired?: true; readonly error?: never }
  | { readonly error: StoredError; readonly value?: never; readonly repaired?: never };

export interface TurnFamily {
  /** A turn begins; the delivery of its messages follows. */
  "turn.started": {
    readonly turn: number;
    /** The most steps that it may take. */
    readonly maxSteps: number;
  };
  /** A person or a program cancels the running turn. `turn.ended` follows once its model and tools have stopped. */
  "turn.cancel-requested": {
    readonly turn: number;
    readonly mode?: CancelMode;
    /** Why, as the caller said it. */
    readonly reason?: string;
    /** The name of the person who cancelled it. */
    readonly by?: string;
  };
  /** A limit ends the turn. */
  "turn.limit-reached": {
    readonly turn: number;
    /** Which limit. */
    readonly limit: TurnLimit;
    /** One more step follows, in which the model may conclude but call no tools. */
    readonly lastStep: boolean;
    /** Which of the conditions of `stopWhen`, from 0. */
    readonly condition?: number;
    readonly budget?: ReachedBudget;
  };
  /** In place of a limit's end: the turn waits until a person allows more, or cancels it. */
  "turn.held": { readonly turn: number; readonly budget: ReachedBudget };
  /** So much more counts on top of the limit that held the turn. */
  "turn.allowed": {
    readonly turn: number;
    /** Tokens on top of the limit. */
    readonly tokens?: number;
    /** US dollars on top of the limit. */
    readonly dollars?: number;
    /** The name of the person who allowed it. */
    readonly by?: string;
  };
  /** The turn is over: the last event of each. */
  "turn.ended": {
    readonly turn: number;
    readonly reason: TurnEndReason;
    /** Why it failed. */
    readonly error?: StoredError;
    /** The structured output that the program requested, or the reason why there is none. */
    readonly output?: TurnOutput;
  };
}

const turn = z.int().positive();

const outputSchema: z.ZodType<TurnOutput> = z.union([
  z.looseObject({ value: jsonSchema, repaired: z.literal(true).exactOptional() }),
  z.looseObject({ error: storedErrorSchema }),
]);

const budgetSchema = z.looseObject({
  of: z.string(),
  unit: z.enum(["tokens", "dollars"]),
  limit: z.number(),
  spent: z.number(),
  unpriced: z.literal(true).exactOptional(),
});

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
  "stop-condition",
  "out-of-budget",
]);

export const turnSchemas: FamilySchemas<TurnFamily> = {
  "turn.started": () => z.looseObject({ turn, maxSteps: z.int().positive() }),
  "turn.cancel-requested": () =>
    z.looseObject({
      turn,
      mode: z.enum(["now", "after-tools"]).exactOptional(),
      reason: z.string().exactOptional(),
      by: z.string().exactOptional(),
    }),
  "turn.limit-reached": () =>
    z.looseObject({
      turn,
      limit: z.enum(["time", "repetition", "stop-condition", "budget"]),
      lastStep: z.boolean(),
      condition: z.int().nonnegative().exactOptional(),
      budget: budgetSchema.exactOptional(),
    }),
  "turn.held": () => z.looseObject({ turn, budget: budgetSchema }),
  "turn.allowed": () =>
    z.looseObject({
      turn,
      tokens: z.number().positive().exactOptional(),
      dollars: z.number().positive().exactOptional(),
      by: z.string().exactOptional(),
    }),
  "turn.ended": () =>
    z.looseObject({
      turn,
      reason: turnEndReasonSchema,
      error: storedErrorSchema.exactOptional(),
      output: outputSchema.exactOptional(),
    }),
};
