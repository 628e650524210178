/** Where the head of a session goes, and what a move leaves behind. Pure. */

import { z } from "zod";
import type { Cost } from "../context/index.ts";
import { usageSchema, type EventBody, type TokenUsage } from "../events/index.ts";

/** Where `Session.rewind` goes: a position between two turns, or the last one before a turn or a message. */
export type RewindPlace =
  | {
      /** The last position to keep: the end of a turn. */
      readonly to: number;
    }
  | {
      /** The number of the first turn to leave. */
      readonly beforeTurn: number;
    }
  | {
      /** The id of a message; its turn is the first one to leave. */
      readonly beforeMessage: string;
    };

/** The outcome of a rewind. */
export interface Rewound extends LeftTurns {
  readonly branch: number;
  /** The position of `session.rewound`; of the last event if nothing had to be left. */
  readonly position: number;
  /** The position that the history and the prompt are those of; equal to `position` if nothing changed. */
  readonly to: number;
  /** What those turns cost, as far as prices are known. Absent where no agent is available. */
  readonly cost?: Cost;
}

/** The outcome of a rewind in another process. */
export const rewoundSchema: z.ZodType<Rewound> = z.lazy(() =>
  z.object({
    branch: z.int(),
    position: z.int(),
    to: z.int(),
    turns: z.array(z.int()),
    effects: z.array(
      z.object({
        turn: z.int(),
        step: z.int(),
        callId: z.string(),
        toolName: z.string(),
        status: z.enum(["succeeded", "unknown"]),
      }),
    ),
    usage: usageSchema,
    cost: z
      .object({
        dollars: z.number(),
        basis: z.enum(["measured", "estimated"]),
        unpriced: z.number(),
      })
      .exactOptional(),
  }),
);

/** A decided rewind. It has no event if the session is already at that place. */
export interface RewindDecision {
  readonly rewound: Rewound;
  readonly event?: EventBody<"session.rewound">;
}

export interface RewindManner {
  /** Tell the model about the remaining effects in the next prompt. Default: false. */
  readonly tell?: boolean | undefined;
  /** The name of the person who moves the head. */
  readonly by?: string | undefined;
}

/** A call of the branch that was left, whose effect in the world remains. */
export interface RemainingEffect {
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  /** `unknown`: the call was started, but its end is not known. */
  readonly status: "succeeded" | "unknown";
}

/** The turns that leave the active branch. */
export interface LeftTurns {
  readonly turns: readonly number[];
  /** What their calls did and a rewind does not undo, oldest first. */
  readonly effects: readonly RemainingEffect[];
  /** The tokens of those turns. They stay in the session's total. */
  readonly usage: TokenUsage;
}
