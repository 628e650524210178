/**
 * Redacts a session of a running runtime. First passivates all that hold the content in memory: the
 * session and those that share its events. No session may be activated until it is done.
 */

import { setImmediate } from "node:timers/promises";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import { linkOf } from "../../state/index.ts";
import type { UpkeepHost } from "./live-upkeep.ts";
import type { SnapshotWriter } from "../session/snapshot-writer.ts";
import type { SessionActor } from "../session/actor.ts";
import {
  forksOf,
  redactSession,
  type Redacted,
  type RedactionTarget,
  type RedactOptions,
  type RedactSessionOptions,
} from "../../archive/index.ts";

interface Holder {
  readonly actor: SessionActor;
  readonly snapshots: SnapshotWriter;
}

interface LiveRedactionOptions<Live extends Holder> extends RedactSessionOptions {
  readonly log: EventLog;
  readonly live: ReadonlyMap<string, Promise<Live>>;
  /** Resolves when the session is given back. */
  readonly passivate: (holder: Live) => Promise<void>;
  /** Runs the change while no other process can take the session. */
  readonly claimed: <Result>(session: string, change: () => Promise<Result>) => Promise<Result>;
}

type RedactionHost = Pick<UpkeepHost, "log" | "live" | "clock" | "closing">;

/** @throws TurnlogError as `Session.redact`, and `SESSION_ELSEWHERE` */
export async function redactHere(
  session: string,
  what: readonly RedactionTarget[],
  options: RedactOptions,
  { log, live: sessions, clock }: RedactionHost,
): Promise<Redacted> {
  return await sessions.whileInactive(session, (live, passivate) =>
    redactLive(session, what, {
      ...options,
      log,
      now: clock(),
      live,
      passivate,
      claimed: (...change) => sessions.claimed(...change),
    }),
  );
}

/** @throws TurnlogError as `Session.redact` */
async function redactLive<Live extends Holder>(
  session: string,
  what: readonly RedactionTarget[],
  { log, live, passivate, claimed, ...options }: LiveRedactionOptions<Live>,
): Promise<Redacted> {
  const holders: Live[] = [];
  for (const [name, activation] of live) {
    if (!(await shares(log, name, session))) continue;
    // A session whose activation fails holds nothing in memory.
    const holder = await activation.catch(() => undefined);
    if (holder !== undefined) holders.push(holder);
  }
  for (const { snapshots, actor } of holders) {
    await snapshots.stored;
    if (actor.failure === undefined) await actor.durable();
  }
  // Commands that already hold an actor record their events first.
  await setImmediate();
  for (const { actor } of holders) {
    if (actor.isIdle || actor.failure !== undefined) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: a turn of ${actor.session} is using the content. Cancel that turn first, or wait until it has ended.`,
      { session, position: actor.state.position },
    );
  }
  await Promise.all(holders.map((holder) => passivate(holder)));
  await assertNotElsewhere(log, session);
  return await claimed(session, () => redactSession(log, session, what, options));
}

/**
 * A process that takes a fork later reads its keys again, but a process that runs it now has the content in
 * memory.
 */
async function assertNotElsewhere(log: EventLog, session: string): Promise<void> {
  const taken = await log.ownership?.taken?.();
  if (taken === undefined) return;
  for await (const fork of forksOf(log, session)) {
    if (!taken.has(fork)) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: another process runs its fork ${fork} and has the content in memory. Repeat the call when that process has given the fork back: after \`idleAfterMs\` at rest, or when it closes.`,
      { session, details: { fork } },
    );
  }
}

async function shares(log: EventLog, name: string, session: string): Promise<boolean> {
  for (let origin: string | undefined = name; origin !== undefined;) {
    if (origin === session) return true;
    origin = (await linkOf(log, origin))?.session;
  }
  return false;
}
