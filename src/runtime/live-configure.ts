/** Changes the agent of a live session between turns. */

import { TurnlogError } from "../events/index.ts";
import type { AgentChanges, AgentRegistry } from "./agent-registry.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { SessionAgent } from "./session-agent.ts";
import { commands } from "./session/index.ts";

/** @throws TurnlogError as `Session.configure` */
export async function configureLive(
  session: string,
  changes: AgentChanges,
  { agents, live }: { readonly agents: AgentRegistry; readonly live: LiveSessions },
): Promise<void> {
  const before = await live.activate(session);
  assertIdle(before);
  const after = await agents.changed(session, before.agent, changes, "configure");
  if (after === before.agent) return;
  // A new actor takes all that depends on the agent, and records the change.
  await live.whilePassive(session, assertIdle, async () => {
    agents.set(session, after);
  });
  await live.activate(session);
}

function assertIdle({ actor }: LiveSession): undefined {
  commands.assertNotClosed(actor, "configure");
  commands.assertIdle(actor, "configure");
}

/** Refuses to open a session by an agent that does not run it. @throws TurnlogError `COMMAND_REFUSED` */
export function assertAgent(session: string, asked: string, { name: agent }: SessionAgent): void {
  if (agent === asked) return;
  throw new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is run by \`${agent}\`, not by \`${asked}\`. Open it without \`agent\`, and change its agent with \`session.configure({ agent: "${asked}" })\`.`,
    { session, details: { agent, asked } },
  );
}
