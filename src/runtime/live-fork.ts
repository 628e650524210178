/** Forks a session of a running runtime, by its agent or another one. It never changes the session that is forked. */

import { parseSessionId, type EventLog, type RecoveryPolicy } from "../events/index.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { forkSession } from "../archive/index.ts";
import type { ForkOptions, Session } from "./session.ts";
import type { SessionAgent } from "./session-agent.ts";

export interface ForkHost {
  readonly log: EventLog;
  readonly agents: AgentRegistry;
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Activates the new session. `recovery` replaces the runtime's policy for a turn that is cut by the fork. */
  readonly open: (session: string, recovery?: RecoveryPolicy) => Promise<Session>;
}

/** @throws TurnlogError as `Session.fork` */
export async function forkLive(
  session: string,
  before: SessionAgent,
  options: ForkOptions,
  { log, agents, newId, clock, open }: ForkHost,
  recovery?: RecoveryPolicy,
): Promise<Session> {
  const { id = newId(), position } = options;
  const as = parseSessionId(id);
  const sessionAgent = await agents.changed(session, before, options, "fork");
  await forkSession(log, session, {
    as,
    ...(position === undefined ? {} : { position }),
    ...(sessionAgent === before ? {} : { agent: sessionAgent.prepared.description }),
    now: clock(),
  });
  if (sessionAgent !== before || agents.isChanged(session)) agents.set(as, sessionAgent);
  return await open(as, recovery);
}
