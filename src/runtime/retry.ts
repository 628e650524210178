/** Whether a failed model call is tried again, and after how long. */

import { APICallError } from "@ai-sdk/provider";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/** Milliseconds that the provider asked for, by `retry-after-ms` or `retry-after` (seconds or a date). */
function askedFor(error: APICallError, now: number): number | undefined {
  const headers = error.responseHeaders ?? {};
  const milliseconds = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (Number.isFinite(milliseconds)) return milliseconds;
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const seconds = Number.parseFloat(after);
  const delay = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now;
  return Number.isFinite(delay) ? delay : undefined;
}

/**
 * The delay before the next attempt, or undefined when trying again would not help.
 * Doubles from half a second, with up to a quarter of jitter; a provider's own wish goes first.
 */
export function retryDelayMs(
  error: unknown,
  attempt: number,
  { now, random }: { readonly now: number; readonly random: number },
): number | undefined {
  if (!APICallError.isInstance(error) || !error.isRetryable) return undefined;
  const asked = askedFor(error, now);
  if (asked !== undefined && asked <= LONGEST_DELAY_MS) return Math.max(0, Math.round(asked));
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return Math.round(backoff * (0.75 + random / 4));
}
