/** Encodes the beginning of an attempt at a step, and what leads to another one. Pure. */

import type { SessionEvent } from "../events/index.ts";
import {
  noStep,
  quiet,
  type Encoded,
  type EncoderState,
  type StepProgress,
} from "./encoder-state.ts";
import type { SessionChunk } from "./ui-types.ts";

export function stepStarted(
  state: EncoderState,
  { data: { step, attempt, model, estimate } }: SessionEvent<"step.started">,
): Encoded {
  const isAgain = attempt > 1 && state.step.step === step && state.step.started;
  const context: SessionChunk = {
    type: "data-context",
    id: "context",
    data: { promptTokens: estimate.tokens },
  };
  const next = isAgain ? again(state.step, step) : { ...noStep, step, started: true };
  return {
    state: { ...state, step: next, model: `${model.provider}:${model.modelId}` },
    // The figure comes before the step, as a reset takes away all parts of a step, also its reductions.
    chunks: isAgain
      ? [{ type: "reset-step" }, ...reductionChunks(next)]
      : [context, { type: "start-step" }],
  };
}

export function stepRetrying(
  state: EncoderState,
  { data: { step, attempt, delayMs } }: SessionEvent<"step.retrying">,
): Encoded {
  return {
    state: { ...state, step: again(state.step, step) },
    chunks: [
      { type: "reset-step" },
      { type: "data-notice", data: { kind: "retrying", attempt, delayMs }, transient: true },
    ],
  };
}

/** The next attempt shows it. */
export function stepReduced(
  state: EncoderState,
  { position, data: { rung } }: SessionEvent<"context.reduced">,
): Encoded {
  const { step, turn } = state;
  if (turn === 0) return quiet(state);
  const reductions = [...step.reductions, { position, rung }];
  return quiet({ ...state, step: { ...step, reductions } });
}

function again({ reductions }: StepProgress, step: number): StepProgress {
  return { ...noStep, step, started: true, reductions };
}

function reductionChunks({ reductions }: StepProgress): readonly SessionChunk[] {
  return reductions.map(({ position, rung }) => ({
    type: "data-reduction",
    id: `reduction-${position}`,
    data: { rung },
  }));
}
