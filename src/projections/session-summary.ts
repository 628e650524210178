/** One session in the list of sessions: what a person needs to find it again. */

import { z } from "zod";
import type { StoredUserContent, TokenUsage, TurnEndReason } from "../events/index.ts";
import { turnEndReasonSchema, usageSchema } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";
import { addUsage, noUsage } from "./usage.ts";

export interface SessionSummary {
  /** The beginning of the first user message; empty before there is one. */
  readonly title: string;
  readonly status: "idle" | "running" | "closed";
  readonly turns: number;
  readonly steps: number;
  readonly messages: number;
  /** All that was spent, on retries and compactions too. */
  readonly total: TokenUsage;
  readonly model?: string;
  /** Who runs it: changes when model, instructions or tools do. */
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

export const sessionSummary: Projection<SessionSummary> = defineProjection<SessionSummary>({
  name: "session-summary",
  version: 3,
  schema: z.object({
    title: z.string(),
    status: z.enum(["idle", "running", "closed"]),
    turns: z.int(),
    steps: z.int(),
    messages: z.int(),
    total: usageSchema,
    model: z.string().exactOptional(),
    agentDigest: z.string().exactOptional(),
    lastEnd: turnEndReasonSchema.exactOptional(),
  }),
  initial: { title: "", status: "idle", turns: 0, steps: 0, messages: 0, total: noUsage },
  on: {
    "session.created": (state, { data }) => ({ ...state, agentDigest: data.agent.digest }),
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
    "step.finished": (state, { data }) => spent(state, data.usage),
    "step.failed": (state, { data }) => spent(state, data.usage),
    "step.interrupted": (state, { data }) => spent(state, data.usage),
    "context.compacted": (state, { data }) => spent(state, data.usage),
    "context.compaction-rejected": (state, { data }) => spent(state, data.usage),
    "context.summary-rejected": (state, { data }) => spent(state, data.usage),
    "session.closed": (state) => ({ ...state, status: "closed" }),
  },
});
