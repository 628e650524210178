/** Changes the agent of a live session between turns. */

import { TurnlogError, type JsonObject } from "../../events/index.ts";
import type { AgentChanges } from "../api/session-options.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { differentKey } from "../../state/index.ts";
import type { LiveSession, Opening } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import * as commands from "../session/commands.ts";

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

interface Recorded {
  /** Undefined for the agent of a runtime that has one only. */
  readonly agent?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** Refuses a session that is not as its caller says. @throws TurnlogError `COMMAND_REFUSED` */
export function assertOpenedAs(
  session: string,
  { agent, metadata: recorded }: Recorded,
  { agent: asked, metadata }: Opening,
): void {
  if (asked !== undefined && asked !== agent) {
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} is run by \`${agent}\`, not by \`${asked}\`. Open it without \`agent\`, and change its agent with \`session.configure({ agent: "${asked}" })\`.`,
      { session, details: { agent, asked } },
    );
  }
  const other = differentKey(recorded, metadata);
  if (other === undefined) return;
  throw new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} has another \`metadata.${other}\` than it was opened with. If it is the right session, open it without, and change it with \`session.setMetadata\`.`,
    { session, details: { option: `metadata.${other}` } },
  );
}
