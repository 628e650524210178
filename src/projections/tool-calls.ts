/** The calls to our own tools: status, attempts and times. */

import { z } from "zod";
import type { SessionEvent } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

const statuses = [
  "waiting",
  "awaiting-approval",
  "approved",
  "refused",
  "awaiting-output",
  "running",
  "succeeded",
  "failed",
  "denied",
  "skipped",
  "unknown",
] as const;

/** The status of a call. From `succeeded` on it has ended. */
type ToolCallStatus = (typeof statuses)[number];

/** A call to a tool. */
export interface ToolCall {
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  readonly status: ToolCallStatus;
  readonly attempts: number;
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

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

function indexOf({ open }: ToolCallsState, { step, callId }: CallKey): number {
  return open.findIndex((call) => call.step === step && call.callId === callId);
}

function update(
  state: ToolCallsState,
  key: CallKey,
  change: (call: ToolCall) => ToolCall,
): ToolCallsState {
  const index = indexOf(state, key);
  const call = state.open[index];
  return call === undefined ? state : { ...state, open: state.open.with(index, change(call)) };
}

function end(
  state: ToolCallsState,
  { time, data }: { readonly time: number; readonly data: CallKey },
  status: ToolCallStatus,
): ToolCallsState {
  const index = indexOf(state, data);
  const call = state.open[index];
  if (call === undefined) return state;
  return {
    ...state,
    open: state.open.toSpliced(index, 1),
    ended: [...state.ended, { ...call, status, endedAt: time }],
  };
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
    status: z.enum(statuses),
    attempts: z.int(),
    effectId: z.string().exactOptional(),
    child: z.string().exactOptional(),
    origin: z.string().exactOptional(),
    startedAt: z.number().exactOptional(),
    endedAt: z.number().exactOptional(),
  }),
);

/** Folds the status of each tool call: waiting, running, ended. */
export const toolCalls: Projection<ToolCallsState> = defineProjection<ToolCallsState>({
  name: "tool-calls",
  version: 3,
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
    "tool.approval-requested": (state, { data }) =>
      update(state, data, (call) => ({ ...call, status: "awaiting-approval" })),
    "tool.approval-answered": (state, { data }) =>
      update(state, data, (call) => ({ ...call, status: data.approved ? "approved" : "refused" })),
    "tool.output-requested": (state, { data }) =>
      update(state, data, (call) => ({ ...call, status: "awaiting-output" })),
    "tool.started": (state, { time, data }) =>
      update(state, data, (call) => ({
        ...call,
        status: "running",
        attempts: data.attempt,
        effectId: data.effectId,
        ...(data.child === undefined ? {} : { child: data.child }),
        startedAt: call.startedAt ?? time,
      })),
    "tool.succeeded": (state, event) => end(state, event, "succeeded"),
    "tool.failed": (state, event) => end(state, event, "failed"),
    "tool.denied": (state, event) => end(state, event, "denied"),
    "tool.skipped": (state, event) => end(state, event, "skipped"),
    "tool.unknown": (state, event) => end(state, event, "unknown"),
  },
});
