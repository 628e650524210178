/** The waits of a session. A program may pass its own timer, for instance for tests. */

import { defer, onAbort } from "./abort.ts";

/** The reason for a wait. */
export type Wait =
  /** The time limit of a turn (`timeout.totalMs`) or a step (`timeout.stepMs`), or of the last step after it. */
  | { readonly kind: "turn" }
  /** Between two attempts at a model call, or at a call for a summary. */
  | { readonly kind: "retry" | "summary-retry" }
  /** One of the limits of a model call. */
  | { readonly kind: "model"; readonly limit: ModelLimit }
  /** For the time of a message for later. */
  | { readonly kind: "later" }
  /** Before background work is tried again, and until a try has lasted long. */
  | { readonly kind: "background" }
  /** For a `TokenCounter`. */
  | { readonly kind: "count" }
  /** For a tool, until it is stopped. */
  | { readonly kind: "tool"; readonly callId: string }
  /** For a tool that was stopped. */
  | { readonly kind: "grace"; readonly callId: string };

/** The awaited part of a model call. */
export type ModelLimit = "the first token" | "the next token" | "the whole call";

/**
 * Calls `due` once, unless it is disposed of before. Accepts more than `setTimeout` (2^31 - 1); never calls
 * `due` for `Infinity`.
 */
export type Timer = (milliseconds: number, due: () => void, wait: Wait) => Disposable;

/** Default milliseconds between stopping a tool and no longer waiting for it. */
export const DEFAULT_GRACE_MS = 1000;

/** The longest timeout of Node, in milliseconds; it ends a longer one after 1 ms. */
export const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemTimer: Timer = (milliseconds, due) => after(milliseconds, due);

/** As `setTimeout`, of any length. @param holds - Whether it keeps the process alive. Default true. */
export function after(milliseconds: number, due: () => void, holds = true): Disposable {
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

/** Resolves when the promise settles, or when the time is up. Keeps the process alive until then. */
export async function settledWithin(
  milliseconds: number,
  promise: PromiseLike<unknown>,
): Promise<void> {
  const over = Promise.withResolvers<void>();
  using _ = after(milliseconds, over.resolve);
  promise.then(
    () => over.resolve(),
    () => over.resolve(),
  );
  await over.promise;
}

/** Resolves with true when the time is up, with false as soon as the signal aborts. */
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
