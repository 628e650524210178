/** Whether a failed model call is tried again, and after how long. Pure. */

import type { ProviderFailure } from "./provider-failure.ts";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/**
 * Milliseconds until the next attempt, or undefined when trying again would not help.
 * Doubles from half a second up to half a minute, with up to a quarter of jitter. A provider's own
 * wish goes first; one that asks for more patience than half a minute is not tried again.
 */
export function retryDelayMs(
  { isRetryable, retryAfterMs }: ProviderFailure,
  attempt: number,
  random: number,
): number | undefined {
  if (!isRetryable) return undefined;
  if (retryAfterMs !== undefined) {
    return retryAfterMs <= LONGEST_DELAY_MS ? Math.round(retryAfterMs) : undefined;
  }
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return Math.round(backoff * (0.75 + random / 4));
}
