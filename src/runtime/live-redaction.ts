/**
 * Redacts a session of a running runtime. Whoever has in memory what is to go is put away first: the
 * session, and those that share its events. Nobody may wake up until it is done.
 */

import { setImmediate } from "node:timers/promises";
import { TurnlogError, type EventLog } from "../events/index.ts";
import { linkOf } from "../state/index.ts";
import type { SnapshotWriter, SessionActor } from "./session/index.ts";
import {
  redactSession,
  type Redacted,
  type RedactionTarget,
  type RedactSessionOptions,
} from "../archive/index.ts";

interface Awake {
  readonly actor: SessionActor;
  readonly snapshots: SnapshotWriter;
}

/** What the runtime lends for it. */
export interface LiveRedactionOptions<Live extends Awake> extends RedactSessionOptions {
  readonly log: EventLog;
  readonly awake: ReadonlyMap<string, Promise<Live>>;
  readonly putAway: (live: Live) => void;
}

/** @throws TurnlogError as `Session.redact` */
export async function redactLive<Live extends Awake>(
  session: string,
  what: readonly RedactionTarget[],
  { log, awake, putAway, ...options }: LiveRedactionOptions<Live>,
): Promise<Redacted> {
  const holders: Live[] = [];
  for (const [name, activation] of awake) {
    if (!(await shares(log, name, session))) continue;
    // One that cannot be woken up has nothing in memory.
    const live = await activation.catch(() => undefined);
    if (live !== undefined) holders.push(live);
  }
  for (const { snapshots, actor } of holders) {
    await snapshots.stored;
    if (actor.failure === undefined) await actor.durable();
  }
  // Whoever was handed one before now has said what they had to say.
  await setImmediate();
  for (const { actor } of holders) {
    if (actor.isIdle || actor.failure !== undefined) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: ${actor.session} has it in use for a turn. Cancel that first, or wait until it has ended.`,
      { session, position: actor.state.position },
    );
  }
  for (const live of holders) putAway(live);
  return await redactSession(log, session, what, options);
}

/** Whether a session is the other one, or branches off it. */
async function shares(log: EventLog, name: string, session: string): Promise<boolean> {
  for (let at: string | undefined = name; at !== undefined;) {
    if (at === session) return true;
    at = (await linkOf(log, at))?.session;
  }
  return false;
}
