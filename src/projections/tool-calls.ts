/** The calls to our own tools: status, attempts and times. */

import { z } from "zod";
import type { SessionEvent } from "../events/index.ts";
import {
  callStatusAfter,
  callStatuses,
  hasEnded,
  onCallEvents,
  type CallEvent,
  type CallStatus,
} from "../folds/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** A call to a tool. */
export interface ToolCall {
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  readonly status: CallStatus;
  readonly attempts: number;
  /** How many attempts had ended when the call last asked a person: their outcome is known. */
  readonly asked?: number;
  readonly effectId?: string;
  /** The session of the sub-agent that runs it. */
  readonly child?: string;
  /** The session in which the model made the call, if this one is a fork that continues it. */
  readonly origin?: string;
  /** Epoch milliseconds. */
  readonly startedAt?: number;
  readonly endedAt?: number;
}

export interface ToolCallsState {
  readonly step: number;
  readonly open: readonly ToolCall[];
  readonly ended: readonly ToolCall[];
}

function moved(state: ToolCallsState, event: CallEvent): ToolCallsState {
  const { step, callId } = event.data;
  const index = state.open.findIndex((call) => call.step === step && call.callId === callId);
  const before = state.open[index];
  if (before === undefined) return state;
  const status = callStatusAfter(before.status, event);
  if (!hasEnded(status)) {
    const asked = isQuestion(event) ? { asked: before.attempts } : {};
    const call = { ...before, status, ...started(before, event), ...asked };
    return { ...state, open: state.open.with(index, call) };
  }
  return {
    ...state,
    open: state.open.toSpliced(index, 1),
    ended: [...state.ended, { ...before, status, endedAt: event.time }],
  };
}

function isQuestion(event: CallEvent): boolean {
  return event.type === "tool.approval-requested" && event.data.question !== undefined;
}

function started({ startedAt }: ToolCall, event: CallEvent): Partial<ToolCall> {
  if (event.type !== "tool.started") return {};
  const { attempt: attempts, effectId, child } = event.data;
  const of = child === undefined ? {} : { child };
  return { attempts, effectId, ...of, startedAt: startedAt ?? event.time };
}

function called(state: ToolCallsState, { data }: SessionEvent<"part.tool-call">): ToolCallsState {
  const { toolCallId: callId, toolName, providerExecuted } = data;
  const known = state.open.some((call) => call.step === state.step && call.callId === callId);
  if (providerExecuted === true || known) return state;
  return {
    ...state,
    open: [...state.open, { step: state.step, callId, toolName, status: "waiting", attempts: 0 }],
  };
}

const callSchema = z.lazy(() =>
  z.object({
    step: z.int(),
    callId: z.string(),
    toolName: z.string(),
    status: z.enum(callStatuses),
    attempts: z.int(),
    asked: z.int().exactOptional(),
    effectId: z.string().exactOptional(),
    child: z.string().exactOptional(),
    origin: z.string().exactOptional(),
    startedAt: z.number().exactOptional(),
    endedAt: z.number().exactOptional(),
  }),
);

/**
 * Folds the status of each tool call: waiting, running, ended.
 * @example
 * const state = events.reduce(toolCalls.fold, toolCalls.initial);
 */
export const toolCalls: Projection<ToolCallsState> = defineProjection<ToolCallsState>({
  name: "tool-calls",
  version: 4,
  follows: "log",
  schema: z.lazy(() =>
    z.object({ step: z.int(), open: z.array(callSchema), ended: z.array(callSchema) }),
  ),
  initial: { step: 0, open: [], ended: [] },
  on: {
    "session.forked": (state, { data }) => ({
      ...state,
      open: state.open.map((call) => ({ origin: data.from.session, ...call })),
    }),
    "step.started": (state, { data }) => ({ ...state, step: data.step }),
    "part.tool-call": called,
    ...onCallEvents(moved),
  },
});
