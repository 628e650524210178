/** What a tool can know of the call that it runs for, beyond what the AI SDK tells it. */

import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";

/** Which call a tool is running for; see {@link callIdentity}. */
export interface CallIdentity {
  readonly session: string;
  readonly step: number;
  /** From 1; higher when the call is run again after a restart. */
  readonly attempt: number;
  /** The same for every attempt at this call, over restarts: use it as an idempotency key. */
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
 * @throws TurnlogError `INVALID_INPUT` when the tool was not run by turnlog.
 *
 * @example
 * ```ts
 * execute: async (order, options) => pay(order, { idempotencyKey: callIdentity(options).effectId })
 * ```
 */
export function callIdentity(options: unknown): CallIdentity {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data.turnlog;
  throw new TurnlogError(
    "INVALID_INPUT",
    "These are not the options that turnlog gives to a tool's `execute`: pass its second argument on as it is.",
    { cause: parsed.error },
  );
}
