/** The waits of a session: for how long, and for what. Whoever runs a session may count them otherwise. */

import { defer, onAbort } from "./defer.ts";

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

/** Calls `due` once after so many milliseconds, unless it is disposed of before. */
export type Timer = (milliseconds: number, due: () => void, wait: Wait) => Disposable;

export const systemTimer: Timer = (milliseconds, due) => {
  const timer = setTimeout(due, milliseconds);
  return defer(() => {
    clearTimeout(timer);
  });
};

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
