/** Answers that a person gave once and for all, and the sessions in which questions were answered. */

import { z } from "zod";
import { byId, byIdSchema, type ForkPoint } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** Which tools were approved or refused for good. */
export interface ApprovalsState {
  /** By tool name. */
  readonly always: Readonly<
    Record<string, { readonly approved: boolean; readonly reason?: string }>
  >;
  /** The tools whose calls wait for an answer, by call id of the running step. */
  readonly asked: Readonly<Record<string, string>>;
  /** Of a fork: the sessions that it shares events with, each with the last position that it wrote. */
  readonly lineage: readonly ForkPoint[];
}

/** What was answered for good about the tool of a call that approval was asked for. */
export function answerForGood(
  { always, asked }: ApprovalsState,
  callId: string,
): ApprovalsState["always"][string] | undefined {
  const toolName = byId(asked, callId);
  return toolName === undefined ? undefined : byId(always, toolName);
}

/** Folds what people said for good of tools that need approval. */
export const approvals: Projection<ApprovalsState> = defineProjection<ApprovalsState>({
  name: "approvals",
  version: 2,
  schema: z.object({
    always: byIdSchema(z.object({ approved: z.boolean(), reason: z.string().exactOptional() })),
    asked: byIdSchema(z.string()),
    lineage: z.array(z.object({ session: z.string(), position: z.int() })),
  }),
  initial: { always: {}, asked: {}, lineage: [] },
  on: {
    "session.forked": (state, { position, data }) => ({
      ...state,
      lineage: [...state.lineage, { session: data.from.session, position: position - 1 }],
    }),
    "step.started": (state) => ({ ...state, asked: {} }),
    "tool.approval-requested": (state, { data }) => ({
      ...state,
      asked: { ...state.asked, [data.callId]: data.toolName },
    }),
    "tool.approval-answered": (state, { data: { callId, approved, reason, always } }) => {
      const toolName = byId(state.asked, callId);
      if (always !== true || toolName === undefined) return state;
      const answer = { approved, ...(reason === undefined ? {} : { reason }) };
      return { ...state, always: { ...state.always, [toolName]: answer } };
    },
    "session.approval-forgotten": (state, { data: { toolName } }) => {
      const { [toolName]: _, ...always } = state.always;
      return { ...state, always };
    },
  },
});
