/** The waits of a session: for how long, and for what. Whoever runs a session may count them otherwise. */

import { defer, onAbort } from "./abort.ts";

/** What a wait is for. */
export type Wait =
  /** The time of a turn (`timeLimits.turnMs`), or of the step that is granted after it. */
  | { readonly kind: "turn" }
  /** Between two attempts at a model call, or at the call that writes a summary. */
  | { readonly kind: "retry" | "summary-retry" }
  /** For the model, until one of its `timeLimits` is passed. */
  | { readonly kind: "model"; readonly limit: ModelLimit }
  /** For the answer of a `TokenCounter`. */
  | { readonly kind: "count" }
  /** For a tool, until it is told to stop. */
  | { readonly kind: "tool"; readonly callId: string }
  /** For a tool that was told to stop. */
  | { readonly kind: "grace"; readonly callId: string };

/** What of a model call was waited for. */
export type ModelLimit = "the first token" | "the next token" | "the whole call";

/**
 * Calls `due` once after so many milliseconds, unless it is disposed of before. They may be more than
 * `setTimeout` can count (2^31 - 1), and `Infinity`: then `due` is never called.
 */
export type Timer = (milliseconds: number, due: () => void, wait: Wait) => Disposable;

/** Milliseconds between telling a tool to stop and leaving it behind, where nothing else is said. */
export const DEFAULT_GRACE_MS: number = 1000;

/** The most milliseconds that Node counts at once; it ends a longer wait after one. */
export const LONGEST_TIMEOUT_MS: number = 2 ** 31 - 1;

export const systemTimer: Timer = (milliseconds, due) => after(milliseconds, due);

/** As `setTimeout`, of any length. @param holds - Whether the process stays for it. Default true. */
export function after(milliseconds: number, due: () => void, holds: boolean = true): Disposable {
  if (milliseconds === Number.POSITIVE_INFINITY) return defer(() => {});
  let timer: NodeJS.Timeout;
  const count = (left: number): void => {
    const next = left - LONGEST_TIMEOUT_MS;
    timer =
      next > 0
        ? setTimeout(() => {
            count(next);
          }, LONGEST_TIMEOUT_MS)
        : setTimeout(due, left);
    if (!holds) timer.unref();
  };
  count(milliseconds);
  return defer(() => {
    clearTimeout(timer);
  });
}

/** Resolves when the time is up, with true; with false as soon as the signal aborts. */
export async function waited(
  timer: Timer,
  milliseconds: number,
  wait: Wait,
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return false;
  const over = Promise.withResolvers<boolean>();
  const due = (): void => {
    over.resolve(true);
  };
  const counting = timer(milliseconds, due, wait);
  using _ = onAbort(signal, () => {
    over.resolve(false);
  });
  try {
    return await over.promise;
  } finally {
    counting[Symbol.dispose]();
  }
}
