/** Makes the live actor of a session ready for a step: its models are known, and it has the tools of today. */

import type { OpenMcpServers } from "../../mcp/index.ts";
import { calledTools, isAtRest } from "../../state/index.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { SessionActor } from "../session/actor.ts";

/** The live actor, once its models are known: `known`, an actor that was ready, while it lasts. */
export async function readyActor(
  live: LiveSessions,
  session: string,
  known?: SessionActor,
): Promise<SessionActor> {
  live.assertOpen(session);
  if (known !== undefined && known.ended === undefined) return known;
  const { actor, agent } = await live.activate(session);
  await agent.catalogue.ready();
  // Without a limit, a log that refuses every recovery would be retried forever.
  if (actor.failure !== undefined) throw actor.failure;
  return await readyActor(live, session, actor);
}

/** The actor with the tools that MCP servers offer now, if it is at rest. Without servers, at once. */
export function equippedActor(
  live: LiveSessions,
  actor: SessionActor,
): SessionActor | Promise<SessionActor> {
  return live.mcp === undefined ? actor : equippedBy(live, live.mcp, actor);
}

async function equippedBy(
  live: LiveSessions,
  servers: OpenMcpServers,
  actor: SessionActor,
): Promise<SessionActor> {
  const { session } = actor;
  const { agent } = await live.activate(session);
  if (isAtRest(actor.state)) {
    const offer = await servers.offer({ session }, calledTools(actor.state));
    const prepared = await agent.equip(offer, servers.call);
    if (isAtRest(actor.state)) actor.adopt(prepared);
  }
  // The session may have been passivated while servers were started.
  return await live.actor(session);
}
