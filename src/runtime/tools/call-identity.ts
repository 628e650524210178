/** The identity of a tool call, for the tool's `execute`. */

import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";

/** The identity of a call; see {@link callIdentity}. */
export interface CallIdentity {
  readonly session: string;
  readonly step: number;
  /** From 1; higher if the call runs again after a restart. */
  readonly attempt: number;
  /** The same for every attempt at this call, also after restarts: use it as an idempotency key. */
  readonly effectId: string;
}

const optionsSchema = z.object({
  turnlog: z.object({
    session: z.string(),
    step: z.int(),
    attempt: z.int(),
    effectId: z.string(),
  }),
});

/**
 * The identity of the running call, from the second argument of a tool's `execute`.
 * @throws TurnlogError `INVALID_INPUT` if turnlog did not run the tool
 * @example
 * const buy = tool({
 *   inputSchema: z.object({ item: z.string() }),
 *   execute: async (order, options) => pay(order, { idempotencyKey: callIdentity(options).effectId }),
 * });
 */
export function callIdentity(options: unknown): CallIdentity {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data.turnlog;
  throw new TurnlogError(
    "INVALID_INPUT",
    "These are not the options that turnlog gives to a tool's `execute`: pass on its second argument unchanged.",
    { cause: parsed.error },
  );
}
