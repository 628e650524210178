/**
 * The sub-agents of a session, read from the logs: which session ran which call, its usage and its cost. Runs
 * and writes nothing.
 */

import { addCost, sessionCost, type Cost, type KnownLimits } from "../context/index.ts";
import {
  heldByForks,
  type DeleteOptions,
  type EventLog,
  type TokenUsage,
} from "../events/index.ts";
import { addUsage, type SessionSummary, type ToolCall } from "../projections/index.ts";
import type { SessionState } from "./session-state.ts";
import { readSessionState, readSummary } from "./view.ts";

/** Usage and cost of a session apart from those of its sub-agents, and all together. */
export interface SubAgents {
  /** The usage of the session's own steps. */
  readonly own: TokenUsage;
  /** With that of all sub-agents, theirs included. */
  readonly total: TokenUsage;
  /** What the session paid itself, as its bill says: `unpriced` counts the calls without a known price. */
  readonly cost: Cost;
  /** With the cost of all sub-agents, theirs included. */
  readonly totalCost: Cost;
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
  known: KnownLimits,
  state?: SessionState,
): Promise<SubAgents> {
  const { toolCalls, summary, usage } = state ?? (await readSessionState(log, session));
  const subAgents: SubAgent[] = [];
  for (const call of [...toolCalls.ended, ...toolCalls.open]) {
    const { step, callId, toolName, status, child, origin } = call;
    const isOwn = origin === undefined && step > (summary.inherited?.step ?? 0);
    if (child === undefined || !isOwn || (await log.revision(child)) === 0) continue;
    const its = await readSessionState(log, child);
    const below = await subAgentsOf(log, child, known, its);
    const run = { session: child, step, callId, toolName, status };
    subAgents.push({ ...run, summary: its.summary, ...below });
  }
  const own = summary.total;
  const total = subAgents.reduce((sum, one) => addUsage(sum, one.total), own);
  const cost = sessionCost(usage, known).total;
  const totalCost = subAgents.reduce((sum, one) => addCost(sum, one.totalCost), cost);
  return { own, total, cost, totalCost, subAgents };
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

/**
 * The sessions of sub-agents that go before this one. None goes if a fork keeps one of them or this one: a deletion
 * that is refused deletes nothing.
 * @throws TurnlogError `SESSION_HAS_FORKS`
 */
export async function childrenToDelete(
  log: EventLog,
  session: string,
  forks: DeleteOptions["forks"],
): Promise<readonly string[]> {
  const children = await childrenOf(log, session);
  if (children.length === 0 || forks === "copy") return children;
  const going = new Set([session, ...children]);
  for (const one of going) for (const child of await childrenOf(log, one)) going.add(child);
  const entries = await Array.fromAsync(log.list());
  for (const one of going) {
    const held = entries.filter(({ forkedFrom }) => forkedFrom?.session === one);
    const names = held.map((fork) => fork.session);
    if (names.length > 0) throw heldByForks(one, names);
  }
  return children;
}
