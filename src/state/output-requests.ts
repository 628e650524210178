/**
 * The calls that a client runs: calls of tools without `execute`, each with an id that is never used
 * twice. The id is derived from the log, as that of an approval. Pure.
 */

import { askedId, type JsonValue } from "../events/index.ts";
import type { CallPart, StepItem } from "../projections/index.ts";
import { ownerOf, stepsNewestFirst } from "./approvals.ts";
import { isAwaited } from "./recovery.ts";
import type { SessionState } from "./session-state.ts";

/** A call whose output a client gives by `answerCall`. It stays after the call has ended. */
export interface OutputRequest {
  /** Identifies the call in `answerCall`: made of session, turn, step and call. Unique in all sessions. */
  readonly requestId: string;
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  /** The input as the model wrote it. */
  readonly input: JsonValue;
  /** The position of `tool.output-requested`. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly requestedAt: number;
  /** `lapsed`: the call ended before an answer, for instance because its turn was cancelled. */
  readonly status: "waiting" | "answered" | "lapsed";
  /** The position and the time (epoch milliseconds) of the answer, and who gave it. */
  readonly answered?: { readonly position: number; readonly time: number; readonly by?: string };
}

export interface RequestedCall {
  readonly request: OutputRequest;
  readonly call: CallPart;
}

/** All requests of a session, oldest first. */
export function outputRequests(session: string, state: SessionState): readonly OutputRequest[] {
  return [...newestFirst(session, state)].map(({ request }) => request).toReversed();
}

/** The requests that wait for an answer, oldest first. */
export function waitingOutputs(session: string, state: SessionState): readonly OutputRequest[] {
  const { open } = state.history;
  if (open === undefined) return [];
  return requestsOf(open, session, state).flatMap(({ request }) =>
    request.status === "waiting" ? [request] : [],
  );
}

/** The requests of an id: one by its `requestId`, or each call that the provider gave that call id. */
export function requestedCalls(
  session: string,
  state: SessionState,
  id: string,
): readonly RequestedCall[] {
  const found: RequestedCall[] = [];
  for (const one of newestFirst(session, state)) {
    if (one.request.requestId === id) return [one];
    if (one.request.callId === id) found.push(one);
  }
  return found;
}

function* newestFirst(session: string, state: SessionState): Generator<RequestedCall> {
  for (const step of stepsNewestFirst(state)) {
    yield* requestsOf(step, session, state).toReversed();
  }
}

function requestsOf(
  step: StepItem,
  session: string,
  state: SessionState,
): readonly RequestedCall[] {
  return step.parts.flatMap((call): readonly RequestedCall[] => {
    if (call.kind !== "call" || call.outputRequest === undefined) return [];
    const { callId, toolName, input, outcome } = call;
    const { settled, ...asked } = call.outputRequest;
    const owner = settled === undefined ? session : ownerOf(settled.position, session, state);
    const about = {
      requestId: askedId(owner, step, callId),
      turn: step.turn,
      step: step.step,
      callId,
      toolName,
      input,
      ...asked,
    };
    if (settled !== undefined && (outcome.status === "succeeded" || outcome.status === "failed")) {
      const { at: time, ...answer } = settled;
      return [{ request: { ...about, status: "answered", answered: { ...answer, time } }, call }];
    }
    const waits = step.step === state.machine.context.step && isAwaited(state, callId);
    const status = settled === undefined && waits ? "waiting" : "lapsed";
    return [{ request: { ...about, status }, call }];
  });
}
