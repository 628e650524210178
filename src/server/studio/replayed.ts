/** Replays a stored session against the agent of the runtime. */

import { TurnlogError, type SessionEvent } from "../../events/index.ts";
import type { Agent } from "../../agent/index.ts";
import type { Runtime } from "../../runtime/index.ts";

/** What a replay found. */
interface Replayed {
  /** The number of equal events, from the first on. */
  readonly events: number;
  /** The first difference. */
  readonly difference?: {
    readonly position: number;
    readonly sentence: string;
    /** The step in which it is; absent before the first one. */
    readonly step?: number;
    readonly recorded: SessionEvent | undefined;
    readonly replayed: SessionEvent | undefined;
  };
}

/** The whole session is in memory, and its events are compared in this thread. */
const MOST_EVENTS = 20_000;

/** @throws TurnlogError `INVALID_INPUT` for a log that is too long or was redacted, and as `Runtime.agentOf` */
export async function replayed(runtime: Runtime, session: string): Promise<Replayed> {
  const { log } = runtime;
  const only = await runtime.agentOf(session);
  const revision = await log.revision(session);
  if (revision > MOST_EVENTS) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} has ${revision} events, and the studio replays up to ${MOST_EVENTS}. Use turnlog replay ${session} --check --agent <module>.`,
      { session },
    );
  }
  const events = await Array.fromAsync(log.read(session, { to: revision }));
  const agents = new Map<string | undefined, Agent>([[undefined, only]]);
  for (const { type, data } of events) {
    const isAgent = type === "session.created" || type === "session.configured";
    const name = isAgent ? data.agent.name : undefined;
    if (!agents.has(name)) agents.set(name, await runtime.agentOf(session, name));
  }
  const { differenceSentence, replay } = await import("../../replay/index.ts");
  const { events: equal, difference } = await replay(
    events,
    ({ name }) => agents.get(name) ?? only,
  );
  if (difference === undefined) return { events: equal };
  const step = events.slice(0, difference.position).findLast(({ type }) => type === "step.started");
  return {
    events: equal,
    difference: {
      ...difference,
      sentence: differenceSentence(difference),
      ...(step?.type === "step.started" ? { step: step.data.step } : {}),
    },
  };
}
