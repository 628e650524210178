/** What the encoder of replies remembers of the events before. Plain data. */

import {
  saysSomething,
  type ChunkedRecord,
  type ReductionRung,
  type SessionEvent,
  type StoredUserContent,
  type TokenUsage,
} from "../events/index.ts";
import type { SessionChunk, SessionMetadata } from "./ui-types.ts";

export interface EncoderState {
  /** The turn that runs; 0 between turns. */
  readonly turn: number;
  /** Contents of accepted messages by id: a delivery only names them, perhaps again after a rewind. */
  readonly contents: ChunkedRecord<StoredUserContent>;
  readonly step: StepProgress;
  /** Calls that the provider runs and whose result has not come yet, maybe of an earlier step. */
  readonly pending: readonly string[];
  /** Of the turn that runs. */
  readonly metadata?: SessionMetadata;
  readonly usage: Pick<TokenUsage, "inputTokens" | "outputTokens">;
  readonly model?: string;
}

/** What the running step has sent. */
export interface StepProgress {
  readonly step: number;
  readonly started: boolean;
  /** Whether the step has any content of the model. */
  readonly says: boolean;
  /** Texts and reasoning without an end. */
  readonly blocks: readonly { readonly kind: "text" | "reasoning"; readonly id: string }[];
  /** Inputs of calls that were begun, until the call comes. */
  readonly inputs: readonly { readonly callId: string; readonly toolName: string }[];
  /** Calls of this step: a result may only name one of them. */
  readonly calls: readonly string[];
  /** Reductions before its attempts. */
  readonly reductions: readonly { readonly position: number; readonly rung: ReductionRung }[];
  /** Questions about calls of this step, by call id. */
  readonly asked: ChunkedRecord<number>;
}

export const noStep: StepProgress = {
  step: 0,
  started: false,
  says: false,
  blocks: [],
  inputs: [],
  calls: [],
  reductions: [],
  asked: [],
};

export const initialEncoder: EncoderState = {
  turn: 0,
  contents: [],
  step: noStep,
  pending: [],
  usage: { inputTokens: 0, outputTokens: 0 },
};

export interface Encoded {
  readonly state: EncoderState;
  readonly chunks: readonly SessionChunk[];
}

export function quiet(state: EncoderState): Encoded {
  return { state, chunks: [] };
}

export function withSaid(state: EncoderState, event: SessionEvent): EncoderState {
  const { step } = state;
  return step.says || !saysSomething(event) ? state : { ...state, step: { ...step, says: true } };
}
