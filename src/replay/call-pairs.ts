/**
 * Pairs the calls of a candidate with those of the recording, by name and input: the n-th same call has the answer of
 * the n-th. For the candidate lane, whose model gives its calls other ids. Pure, but for what it remembers.
 */

import { isDeepStrictEqual } from "node:util";
import type { JsonValue, NewEvent, SessionEvent } from "../events/index.ts";

/** Whether two inputs of a tool are the same call. Default: they are equal as JSON. */
export type SameCall = (toolName: string, recorded: JsonValue, candidate: JsonValue) => boolean;

export interface PlacedCall {
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
}

interface CandidateCall extends PlacedCall {
  readonly recorded: PlacedCall | undefined;
}

export class CallPairs {
  readonly #recorded: readonly PlacedCall[];
  readonly #isSame: SameCall;
  #calls: readonly CandidateCall[] = [];
  #step = 0;

  constructor(
    events: readonly SessionEvent[],
    isSame: SameCall = (_, one, other) => isDeepStrictEqual(one, other),
  ) {
    this.#isSame = isSame;
    let step = 0;
    let calls: readonly PlacedCall[] = [];
    for (const event of events) {
      step = stepOf(event) ?? step;
      calls = withCall(calls, event, step, (call) => call);
    }
    this.#recorded = calls;
  }

  /** An event of the candidate. */
  happened(event: NewEvent): void {
    this.#step = stepOf(event) ?? this.#step;
    const before = this.#calls;
    const pair = (call: PlacedCall): CandidateCall => {
      const taken = new Set(before.map(({ recorded }) => recorded));
      const recorded = this.#recorded.find(
        (one) =>
          !taken.has(one) &&
          one.toolName === call.toolName &&
          this.#isSame(call.toolName, one.input, call.input),
      );
      return { ...call, recorded };
    };
    this.#calls = withCall(before, event, this.#step, pair);
  }

  /** The call of the candidate that has an id, the last one if there are several. */
  call(callId: string): CandidateCall | undefined {
    return this.#calls.findLast((one) => one.callId === callId);
  }

  /** The input of a recorded call. */
  inputOf({ step, callId }: Pick<PlacedCall, "step" | "callId">): JsonValue | undefined {
    return this.#recorded.findLast((one) => one.step === step && one.callId === callId)?.input;
  }

  /** The candidate's call that has the answer of a recorded one. */
  of(step: number, callId: string): PlacedCall | undefined {
    return this.#calls.find(
      ({ recorded }) => recorded?.step === step && recorded.callId === callId,
    );
  }
}

function stepOf({ type, data }: NewEvent): number | undefined {
  return type === "step.started" ? data.step : undefined;
}

/** The calls after an event: an attempt that is given up has made none. */
function withCall<Call extends PlacedCall>(
  calls: readonly Call[],
  event: NewEvent,
  step: number,
  made: (call: PlacedCall) => Call,
): readonly Call[] {
  if (event.type === "step.retrying") return calls.filter((call) => call.step !== step);
  if (event.type !== "part.tool-call") return calls;
  const { toolCallId: callId, toolName, input = null } = event.data;
  return [...calls, made({ step, callId, toolName, input })];
}
