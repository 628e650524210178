/** A session's entry in the list of sessions. */

import { z } from "zod";
import {
  type ForkPoint,
  type SessionEvent,
  type StoredUserContent,
  type TokenUsage,
  type TurnEndReason,
  forkPointSchema,
  turnEndReasonSchema,
  usageSchema,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";
import { addUsage, noUsage } from "./usage.ts";

export interface SessionSummary {
  /** The beginning of the first user message; empty before there is one. */
  readonly title: string;
  readonly status: "idle" | "running" | "closed";
  readonly turns: number;
  readonly steps: number;
  readonly messages: number;
  /** The session's own usage, retries and compactions included. */
  readonly total: TokenUsage;
  readonly forkedFrom?: ForkPoint;
  /** Of a fork: the last shared step, and the usage of the shared part, which is not in `total`. */
  readonly inherited?: { readonly step: number; readonly total: TokenUsage };
  readonly model?: string;
  /** Changes with model, instructions or tools. */
  readonly agentDigest?: string;
  readonly lastEnd?: TurnEndReason;
}

const TITLE_LENGTH = 80;

function titleOf(content: StoredUserContent): string {
  const text =
    typeof content === "string"
      ? content
      : content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
  return text.replaceAll(/\s+/g, " ").trim().slice(0, TITLE_LENGTH);
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

function forked(state: SessionSummary, { data }: SessionEvent<"session.forked">): SessionSummary {
  const { agent, from } = data;
  return {
    ...state,
    ...(agent === undefined ? {} : { agentDigest: agent.digest }),
    forkedFrom: { session: from.session, position: from.position },
    inherited: {
      step: state.steps,
      total: addUsage(state.inherited?.total ?? noUsage, state.total),
    },
    total: noUsage,
  };
}

/** Folds the row of a session in lists: title, status, times, counts. */
export const sessionSummary: Projection<SessionSummary> = defineProjection<SessionSummary>({
  name: "session-summary",
  version: 4,
  follows: "log",
  schema: z.object({
    title: z.string(),
    status: z.enum(["idle", "running", "closed"]),
    turns: z.int(),
    steps: z.int(),
    messages: z.int(),
    total: usageSchema,
    forkedFrom: forkPointSchema.exactOptional(),
    inherited: z.object({ step: z.int(), total: usageSchema }).exactOptional(),
    model: z.string().exactOptional(),
    agentDigest: z.string().exactOptional(),
    lastEnd: turnEndReasonSchema.exactOptional(),
  }),
  initial: { title: "", status: "idle", turns: 0, steps: 0, messages: 0, total: noUsage },
  on: {
    "session.created": (state, { data }) => ({ ...state, agentDigest: data.agent.digest }),
    "session.forked": forked,
    "session.configured": (state, { data }) => ({ ...state, agentDigest: data.agent.digest }),
    "message.queued": (state, { data }) => ({
      ...state,
      title: state.title === "" ? titleOf(data.content) : state.title,
      messages: state.messages + 1,
    }),
    "turn.started": (state, { data }) => ({ ...state, status: "running", turns: data.turn }),
    "turn.ended": (state, { data }) => ({ ...state, status: "idle", lastEnd: data.reason }),
    "step.started": (state, { data }) => ({
      ...state,
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
