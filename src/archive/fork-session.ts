/** Makes a session that shares the events of another one up to a position. Runs nothing. */

import {
  check,
  implementation,
  list,
  name,
  optionsOf,
  position,
  time,
} from "../validation/index.ts";
import {
  TurnlogError,
  type AgentDescription,
  type EventLog,
  type ForkPoint,
  type NewEvent,
} from "../events/index.ts";
import { linkOf, checkPosition } from "../state/index.ts";

/** What a fork is called, and where it branches off. */
export interface ForkSessionOptions {
  /** The name of the fork. */
  readonly as: string;
  /** The last position that it shares. Default: the end; of a session that is closed, what is before that. */
  readonly at?: number;
  /** Who runs it from here on, where that is somebody else. */
  readonly agent?: AgentDescription;
  /** Messages that wait at that position and are not to be delivered in the fork. */
  readonly withdraw?: readonly string[];
  /** Epoch milliseconds. */
  readonly now?: number;
}

/** A fork that was made. */
export interface ForkedSession {
  readonly session: string;
  /** The session that wrote the last event that is shared: where a fork is forked within what it shares, the one before it. */
  readonly from: ForkPoint;
}

const schema = optionsOf<ForkSessionOptions>(
  { at: position, agent: implementation({}), withdraw: list, now: time },
  { as: name },
);

/**
 * Forks a session of a log: writes one event, whatever the position. The first runtime that opens the
 * fork goes on with it as with a session whose process died right behind that position.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for a position that there is not,
 * `REVISION_CONFLICT` when there is a session of that name, and what `EventLog.fork` throws
 */
export async function forkSession(
  log: EventLog,
  session: string,
  options: ForkSessionOptions,
): Promise<ForkedSession> {
  check(schema, options, "forkSession", { name: "options", session });
  const { as, at, agent, withdraw = [], now = Date.now() } = options;
  await checkPosition(log, session, at);
  const from = await ownerOf(log, session, await openPosition(log, session, at));
  const reason = "the session was forked to say something else";
  const taken: readonly NewEvent[] =
    withdraw.length === 0
      ? []
      : [{ type: "message.withdrawn", time: now, data: { ids: withdraw, reason } }];
  const data = { from, ...(agent === undefined ? {} : { agent }) };
  try {
    await log.fork(as, [{ type: "session.forked", time: now, data }, ...taken]);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "REVISION_CONFLICT") throw error;
    throw new TurnlogError(
      "REVISION_CONFLICT",
      `There is a session ${as} already, and nothing was forked. Give the fork another name (\`id\`, \`--as\`).`,
      { session: as, cause: error },
    );
  }
  return { session: as, from };
}

/** Nothing can follow the event that closed a session, but that it was redacted. */
async function openPosition(log: EventLog, session: string, at?: number): Promise<number> {
  const last = at ?? (await log.revision(session));
  for await (const { type, position } of log.read(session, { to: last, backwards: true })) {
    // A closed session may be thinned and redacted.
    if (type === "session.thinned" || type === "session.redacted") continue;
    if (type !== "session.closed") break;
    if (at === undefined) return position - 1;
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} was closed at ${position}: nothing follows that. Fork it at ${position - 1}.`,
      { session, position: at },
    );
  }
  return last;
}

/** The session that wrote an event, which a fork may only share. */
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
