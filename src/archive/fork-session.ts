/** Forks a stored session: the fork shares its events up to a position. Runs nothing. */

import { check, implementation, name, optionsOf, position, time } from "../validation/index.ts";
import {
  TurnlogError,
  type AgentDescription,
  type EventLog,
  type ForkPoint,
} from "../events/index.ts";
import { linkOf, checkPosition } from "../state/index.ts";

export interface ForkSessionOptions {
  readonly as: string;
  /** The last shared position. Default: the end of the session, or the event before `session.closed`. */
  readonly position?: number;
  /** The agent of the fork. Default: the agent of the session. */
  readonly agent?: AgentDescription;
  /** Epoch milliseconds. */
  readonly now?: number;
}

export interface ForkedSession {
  readonly session: string;
  /** The last shared event and the session that wrote it, which may be an ancestor of the forked session. */
  readonly from: ForkPoint;
}

const schema = optionsOf<ForkSessionOptions>(
  { position, agent: implementation({}), now: time },
  { as: name },
);

/**
 * Forks a session of a log by writing one event, at any position. The first runtime that opens the fork
 * recovers it like a session whose process died there.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for an unknown position,
 * `REVISION_CONFLICT` if a session of that name exists, and the errors of `EventLog.fork`
 */
export async function forkSession(
  log: EventLog,
  session: string,
  options: ForkSessionOptions,
): Promise<ForkedSession> {
  check(schema, options, "forkSession", { name: "options", session });
  const { as, position: last, agent, now = Date.now() } = options;
  await checkPosition(log, session, last);
  const from = await ownerOf(log, session, await openPosition(log, session, last));
  const data = { from, ...(agent === undefined ? {} : { agent }) };
  try {
    await log.fork(as, [{ type: "session.forked", time: now, data }]);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "REVISION_CONFLICT") throw error;
    throw new TurnlogError(
      "REVISION_CONFLICT",
      `There is already a session ${as}, so nothing was forked. Give the fork another name (\`id\`, \`--id\`).`,
      { session: as, cause: error },
    );
  }
  return { session: as, from };
}

/** The last position that another event may follow: before `session.closed`. */
async function openPosition(log: EventLog, session: string, asked?: number): Promise<number> {
  const last = asked ?? (await log.revision(session));
  for await (const { type, position } of log.read(session, { to: last, backwards: true })) {
    // A closed session can still be trimmed and redacted.
    if (type === "session.thinned" || type === "session.redacted") continue;
    if (type !== "session.closed") break;
    if (asked === undefined) return position - 1;
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} was closed at ${position}, and nothing can follow that. Fork it at ${position - 1}.`,
      { session, position: asked },
    );
  }
  return last;
}

export async function ownerOf(
  log: EventLog,
  session: string,
  position: number,
): Promise<ForkPoint> {
  let owner = session;
  for (;;) {
    const link = await linkOf(log, owner);
    if (link === undefined || position > link.position) return { session: owner, position };
    owner = link.session;
  }
}
