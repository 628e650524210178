/** A session's entry in the list of sessions. */

import { z } from "zod";
import {
  type AgentDescription,
  type ForkPoint,
  type JsonObject,
  type ParentCall,
  type SessionEvent,
  type StoredUserContent,
  type TokenUsage,
  type TurnEndReason,
  forkPointSchema,
  jsonObjectSchema,
  parentCallSchema,
  textStart,
  turnEndReasonSchema,
  usageSchema,
  defined,
} from "../events/index.ts";
import {
  callStatusAfter,
  hasEnded,
  onCallEvents,
  withoutMessages,
  type CallEvent,
} from "../folds/index.ts";
import { defineProjection, type Projection } from "./projection.ts";
import { addUsage, noUsage } from "./usage.ts";

const callStatuses = ["open", "awaiting-approval", "awaiting-output"] as const;

/** A call of the running step that has not ended. */
interface OpenCall {
  readonly callId: string;
  readonly status: (typeof callStatuses)[number];
}

const statuses = [
  "idle",
  "running",
  "awaiting-approval",
  "awaiting-output",
  "awaiting-budget",
  "closed",
] as const;

export interface SessionSummary {
  /** As it was set, else the beginning of the first user message; empty before there is one. */
  readonly title: string;
  /** `awaiting-…`: the turn waits for people or clients only; if for both, `awaiting-approval`. */
  readonly status: (typeof statuses)[number];
  readonly turns: number;
  readonly steps: number;
  readonly messages: number;
  /** The session's own usage, retries and compactions included. */
  readonly total: TokenUsage;
  readonly forkedFrom?: ForkPoint;
  /** Of a fork: the last shared step, and the usage of the shared part, which is not in `total`. */
  readonly inherited?: { readonly step: number; readonly total: TokenUsage };
  readonly model?: string;
  /** Of a sub-agent: the call that it runs. */
  readonly parent?: ParentCall;
  /** Of a fork of a sub-agent's session: the call whose agent it has. The fork itself runs no call. */
  readonly agentFrom?: ParentCall;
  /** What the program notes about the session. Not part of any prompt. Absent if it noted nothing. */
  readonly metadata?: JsonObject;
  /** Epoch milliseconds of the beginning of its last turn, of a fork its last own one. */
  readonly lastTurnAt?: number;
  /** The name of its agent, in a runtime with `agents`. */
  readonly agent?: string;
  /** Changes with model, instructions or tools. */
  readonly agentDigest?: string;
  readonly lastEnd?: TurnEndReason;
  /** The last turn whose end each person has seen. Absent before anybody has. */
  readonly seen?: Readonly<Record<string, number>>;
  /** Absent instead of empty. */
  readonly openCalls?: readonly OpenCall[];
  /** The messages that wait for delivery, oldest first. Absent instead of empty. */
  readonly waiting?: readonly WaitingMessage[];
}

interface WaitingMessage {
  readonly id: string;
  /** Epoch milliseconds: it is not delivered before. Absent if it may be delivered now. */
  readonly notBefore?: number;
}

const TITLE_LENGTH = 80;

function titleOf(content: StoredUserContent): string {
  const text =
    typeof content === "string"
      ? content
      : content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
  return textStart(text.replaceAll(/\s+/g, " ").trim(), TITLE_LENGTH);
}

function spent(state: SessionSummary, usage: TokenUsage | undefined): SessionSummary {
  return usage === undefined ? state : { ...state, total: addUsage(state.total, usage) };
}

/** A step that began before the fork point belongs to the shared part. */
function stepEnded(
  state: SessionSummary,
  { data }: SessionEvent<"step.finished" | "step.failed" | "step.interrupted">,
): SessionSummary {
  const { inherited } = state;
  if (inherited === undefined || data.step > inherited.step) return spent(state, data.usage);
  return { ...state, inherited: { ...inherited, total: addUsage(inherited.total, data.usage) } };
}

function ofAgent(state: SessionSummary, { digest, name }: AgentDescription): SessionSummary {
  return { ...state, agentDigest: digest, ...(name === undefined ? {} : { agent: name }) };
}

function forked(state: SessionSummary, { data }: SessionEvent<"session.forked">): SessionSummary {
  const { agent, from } = data;
  // A fork of a sub-agent answers no call: the usage and the deletion of its parent leave it out.
  const { lastTurnAt: _, parent, ...shared } = state;
  return {
    ...(parent === undefined ? {} : { agentFrom: parent }),
    ...(agent === undefined ? shared : ofAgent(shared, agent)),
    forkedFrom: { session: from.session, position: from.position },
    inherited: {
      step: state.steps,
      total: addUsage(state.inherited?.total ?? noUsage, state.total),
    },
    total: noUsage,
  };
}

/** Sets the status of an open call, or removes a call that has ended. */
function callMoved(state: SessionSummary, event: CallEvent): SessionSummary {
  const { step, callId } = event.data;
  const { openCalls = [] } = state;
  const index = openCalls.findIndex((call) => call.callId === callId);
  const before = openCalls[index];
  if (step !== state.steps || before === undefined) return state;
  const after = callStatusAfter(before.status, event);
  if (hasEnded(after)) return withCalls(state, openCalls.toSpliced(index, 1));
  const isAwaited = after === "awaiting-approval" || after === "awaiting-output";
  return withCalls(state, openCalls.with(index, { callId, status: isAwaited ? after : "open" }));
}

function called(state: SessionSummary, { data }: SessionEvent<"part.tool-call">): SessionSummary {
  const { toolCallId: callId, providerExecuted } = data;
  const { openCalls = [] } = state;
  if (providerExecuted === true || openCalls.some((call) => call.callId === callId)) return state;
  return withCalls(state, [...openCalls, { callId, status: "open" }]);
}

function withCalls(
  { openCalls: _, ...state }: SessionSummary,
  openCalls: readonly OpenCall[],
): SessionSummary {
  if (openCalls.length === 0) return { ...state, status: "running" };
  const statusesNow = new Set(openCalls.map(({ status }) => status));
  const awaited = statusesNow.has("awaiting-approval") ? "awaiting-approval" : "awaiting-output";
  return { ...state, status: statusesNow.has("open") ? "running" : awaited, openCalls };
}

function waitsAlso(state: SessionSummary, ...messages: readonly WaitingMessage[]): SessionSummary {
  const also = messages.map(({ id, notBefore }) =>
    notBefore === undefined ? { id } : { id, notBefore },
  );
  return { ...state, waiting: [...(state.waiting ?? []), ...also] };
}

function waitsNoLonger(
  { waiting: before = [], ...state }: SessionSummary,
  ids: readonly string[],
): SessionSummary {
  const waiting = withoutMessages(before, ids);
  return waiting.length === 0 ? state : { ...state, waiting };
}

/** Folds the row of a session in lists: title, status, times, counts. */
export const sessionSummary: Projection<SessionSummary> = defineProjection<SessionSummary>({
  name: "session-summary",
  version: 11,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      title: z.string(),
      status: z.enum(statuses),
      turns: z.int(),
      steps: z.int(),
      messages: z.int(),
      total: usageSchema,
      forkedFrom: forkPointSchema.exactOptional(),
      inherited: z.object({ step: z.int(), total: usageSchema }).exactOptional(),
      model: z.string().exactOptional(),
      parent: parentCallSchema.exactOptional(),
      agentFrom: parentCallSchema.exactOptional(),
      metadata: jsonObjectSchema.exactOptional(),
      lastTurnAt: z.number().exactOptional(),
      agent: z.string().exactOptional(),
      agentDigest: z.string().exactOptional(),
      lastEnd: turnEndReasonSchema.exactOptional(),
      seen: z.record(z.string(), z.int()).exactOptional(),
      openCalls: z
        .array(z.object({ callId: z.string(), status: z.enum(callStatuses) }))
        .exactOptional(),
      waiting: z
        .array(z.object({ id: z.string(), notBefore: z.number().exactOptional() }))
        .exactOptional(),
    }),
  ),
  initial: { title: "", status: "idle", turns: 0, steps: 0, messages: 0, total: noUsage },
  on: {
    "session.created": (state, { data: { agent, metadata, parent } }) => ({
      ...ofAgent(state, agent),
      ...defined({ parent, metadata }),
    }),
    "session.metadata-set": (state, { data: { metadata } }) => ({ ...state, metadata }),
    "session.titled": (state, { data: { title } }) => ({ ...state, title }),
    "session.seen": ({ seen, ...state }, { data: { by, turn } }) => ({
      ...state,
      seen: { ...seen, [by]: turn },
    }),
    "session.forked": forked,
    "session.configured": (state, { data }) => ofAgent(state, data.agent),
    "message.queued": (state, { data }) => ({
      ...waitsAlso(state, data),
      title: state.title === "" ? titleOf(data.content) : state.title,
      messages: state.messages + 1,
    }),
    "message.delivered": (state, { data }) => waitsNoLonger(state, data.ids),
    "message.withdrawn": (state, { data }) => waitsNoLonger(state, data.ids),
    "message.rescheduled": (state, { data }) => {
      if (state.waiting?.some(({ id }) => id === data.id) !== true) return state;
      return waitsAlso(waitsNoLonger(state, [data.id]), data);
    },
    "session.rewound": (state, { data: { again = [] } }) =>
      again.length === 0 ? state : waitsAlso(state, ...again.map((id) => ({ id }))),
    "turn.started": (state, { time, data }) => ({
      ...state,
      status: "running",
      turns: data.turn,
      lastTurnAt: time,
    }),
    "turn.held": (state) => ({ ...state, status: "awaiting-budget" }),
    "turn.allowed": (state) => ({ ...state, status: "running" }),
    "turn.ended": ({ openCalls: _, ...state }, { data }) => ({
      ...state,
      status: "idle",
      lastEnd: data.reason,
    }),
    "part.tool-call": called,
    ...onCallEvents(callMoved),
    "step.started": ({ openCalls: _, ...state }, { data }) => ({
      ...state,
      status: "running",
      steps: data.step,
      model: `${data.model.provider}:${data.model.modelId}`,
    }),
    "step.retrying": (state, { data }) => spent(state, data.usage),
    "step.finished": stepEnded,
    "step.failed": stepEnded,
    "step.interrupted": stepEnded,
    "context.compacted": (state, { data }) => spent(state, data.usage),
    "context.compaction-rejected": (state, { data }) => spent(state, data.usage),
    "context.summary-rejected": (state, { data }) => spent(state, data.usage),
    "session.closed": (state) => ({ ...state, status: "closed" }),
  },
});
