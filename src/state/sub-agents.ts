/**
 * The sub-agents of a session, read from the logs: which session ran which call, and its usage. Runs and writes
 * nothing.
 */

import type { EventLog, TokenUsage } from "../events/index.ts";
import { addUsage, type SessionSummary, type ToolCall } from "../projections/index.ts";
import type { SessionState } from "./session-state.ts";
import { readSessionState, readSummary } from "./view.ts";

/** Usage of a session apart from that of its sub-agents, and both together. */
export interface SubAgents {
  /** The usage of the session's own steps. */
  readonly own: TokenUsage;
  /** With that of all sub-agents, theirs included. */
  readonly total: TokenUsage;
  /** In the order of their calls. */
  readonly subAgents: readonly SubAgent[];
}

/** A session that runs a call. */
export interface SubAgent
  extends SubAgents, Pick<ToolCall, "step" | "callId" | "toolName" | "status"> {
  readonly session: string;
  readonly summary: SessionSummary;
}

/** A call that a fork shares belongs to the session that made it; a deleted sub-agent is left out. */
export async function subAgentsOf(
  log: EventLog,
  session: string,
  state?: SessionState,
): Promise<SubAgents> {
  const { toolCalls, summary } = state ?? (await readSessionState(log, session));
  const subAgents: SubAgent[] = [];
  for (const call of [...toolCalls.ended, ...toolCalls.open]) {
    const { step, callId, toolName, status, child, origin } = call;
    const isOwn = origin === undefined && step > (summary.inherited?.step ?? 0);
    if (child === undefined || !isOwn || (await log.revision(child)) === 0) continue;
    const its = await readSessionState(log, child);
    const below = await subAgentsOf(log, child, its);
    const run = { session: child, step, callId, toolName, status };
    subAgents.push({ ...run, summary: its.summary, ...below });
  }
  const own = summary.total;
  const total = subAgents.reduce((sum, one) => addUsage(sum, one.total), own);
  return { own, total, subAgents };
}

/** The sessions that calls of this one created, by their ids, without their own. */
export async function childrenOf(log: EventLog, session: string): Promise<readonly string[]> {
  const children: string[] = [];
  for await (const entry of log.list({ prefix: `${session}/` })) {
    const { parent } = await readSummary(log, entry.session, entry.revision);
    if (parent?.session === session) children.push(entry.session);
  }
  return children;
}
