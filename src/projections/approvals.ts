/** Standing answers about tools, the open questions, and the sessions in which they may have been asked. */

import { z } from "zod";
import { byId, byIdSchema, type ForkPoint } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface ApprovalsState {
  /** Standing answers, by tool name. */
  readonly always: Readonly<
    Record<string, { readonly approved: boolean; readonly reason?: string }>
  >;
  /** Tools whose calls wait for an answer, by call id of the running step. */
  readonly asked: Readonly<Record<string, string>>;
  /** Of a fork: the sessions that wrote its shared events, each with its last position. */
  readonly lineage: readonly ForkPoint[];
}

/** The standing answer about the tool of a waiting call. */
export function standingAnswer(
  { always, asked }: ApprovalsState,
  callId: string,
): ApprovalsState["always"][string] | undefined {
  const toolName = byId(asked, callId);
  return toolName === undefined ? undefined : byId(always, toolName);
}

/**
 * Folds the requested approvals, each with its answer.
 * @example
 * const state = events.reduce(approvals.fold, approvals.initial);
 */
export const approvals: Projection<ApprovalsState> = defineProjection<ApprovalsState>({
  name: "approvals",
  version: 2,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      always: byIdSchema(z.object({ approved: z.boolean(), reason: z.string().exactOptional() })),
      asked: byIdSchema(z.string()),
      lineage: z.array(z.object({ session: z.string(), position: z.int() })),
    }),
  ),
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
