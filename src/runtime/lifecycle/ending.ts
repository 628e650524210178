/** How a step ended, as the AI SDK's callbacks report it. Pure. */

import { AISDKError, getErrorMessage } from "@ai-sdk/provider";
import type { SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";
import type { OpenStep } from "./operation.ts";

export type StepEnding =
  /** With a result; `error` came in its stream. */
  | { readonly kind: "finished"; readonly error?: unknown }
  /** Without a result. `inStream`: its stream broke. */
  | { readonly kind: "failed"; readonly error: unknown; readonly inStream: boolean }
  | { readonly kind: "timed-out"; readonly error: unknown }
  /** `goesOn`: the turn has another step, to conclude in. */
  | { readonly kind: "aborted"; readonly goesOn: boolean };

export function stepEnding(open: OpenStep, event: SessionEvent, state: SessionState): StepEnding {
  const { stopping, skipCalls } = state.machine.context;
  if (event.type === "step.failed") {
    const { attempts } = open;
    const failure = attempts.at(-1);
    const error = failure?.error ?? event.data.error;
    if (event.data.kind === "timeout") return { kind: "timed-out", error };
    if (failure?.kind === "chunk") return { kind: "finished", error };
    return {
      kind: "failed",
      error: attempts.length > 1 ? retryError(attempts.map((one) => one.error)) : error,
      inStream: failure?.kind === "stream",
    };
  }
  if (open.finished !== undefined && !(skipCalls && stopping !== undefined)) {
    return { kind: "finished" };
  }
  return { kind: "aborted", goesOn: stopping === undefined };
}

/** The SDK's error of repeated attempts, by its marker: with its class, turnlog would load all of `ai`. */
function retryError(errors: readonly unknown[]): AISDKError {
  const lastError = errors.at(-1);
  const error = new AISDKError({
    name: "AI_RetryError",
    message: `Failed after ${errors.length} attempts. Last error: ${getErrorMessage(lastError)}`,
  });
  const marker = Symbol.for("vercel.ai.error.AI_RetryError");
  return Object.assign(error, {
    [marker]: true,
    reason: "maxRetriesExceeded",
    errors: [...errors],
    lastError,
  });
}

export function stopped(): DOMException {
  return new DOMException("The turn was stopped.", "AbortError");
}

export function timeIsUp(): DOMException {
  return new DOMException("The turn's time is up.", "TimeoutError");
}
