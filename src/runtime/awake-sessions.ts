/**
 * Who lives and who sleeps: wakes sessions up from their logs, once each, and lets go of those that
 * are not in use. Everything that a session does, it does itself. Used by the runtime alone.
 */

import { setImmediate } from "node:timers/promises";
import { TurnlogError, type RecoveryPolicy, type SessionEvent } from "../events/index.ts";
import { wakeUp, type AwakeSession, type WakingHost } from "./awake-session.ts";
import type { Crew, Crews } from "./crews.ts";
import type { KeepingMoment } from "./kept-session.ts";
import type { OpenMcpServers } from "./mcp/mcp-servers.ts";
import { isAtRest } from "./recovery.ts";
import { closed, gone, reopened } from "./runtime.ts";
import type { SessionActor } from "./session-actor.ts";

export interface AwakeSessionsOptions extends Pick<
  WakingHost,
  "options" | "log" | "blobs" | "onWarning"
> {
  readonly crews: Crews;
  readonly mcp: OpenMcpServers | undefined;
}

export class AwakeSessions {
  readonly #crews: Crews;
  readonly #mcp: OpenMcpServers | undefined;
  readonly #host: WakingHost;
  readonly #awake = new Map<string, Promise<AwakeSession>>();
  /** Sessions whose rows are being changed: nobody wakes them meanwhile. */
  readonly #resting = new Map<string, Promise<unknown>>();
  /** Snapshots that are being stored. */
  readonly #keeping = new Set<Promise<void>>();
  /** While it lasts, nobody wakes up: what is redacted must be in nobody's memory. */
  #alone: Promise<unknown> | undefined;
  #isClosing = false;

  constructor({ crews, mcp, ...lent }: AwakeSessionsOptions) {
    this.#crews = crews;
    this.#mcp = mcp;
    this.#host = {
      ...lent,
      crew: async (session, goesOn) =>
        goesOn && mcp !== undefined ? await this.#equipped(session, mcp) : crews.of(session),
      // What its servers offer is not known yet: it is told when it is.
      isComplete: (agent) => mcp === undefined || agent.mcp !== undefined,
      onFailure: (session) => this.#awake.delete(session),
      onRecorded: (awake, event) => {
        this.#recorded(awake, event);
      },
    };
  }

  /** The session, where it is awake or being woken up. */
  async find(session: string): Promise<AwakeSession | undefined> {
    return await this.#awake.get(session);
  }

  /** @throws TurnlogError `RUNTIME_CLOSED`, `SESSION_DELETED`, and what reading the log throws */
  async wake(session: string, recovery?: RecoveryPolicy): Promise<AwakeSession> {
    while (this.#resting.has(session)) await this.#resting.get(session);
    while (this.#alone !== undefined) await this.#alone.catch(() => {});
    this.assertOpen(session);
    const known = this.#awake.get(session);
    if (known !== undefined) return await known;
    const waking = wakeUp(session, this.#host, recovery).then((awake) => {
      this.#sleepLater(awake);
      return awake;
    });
    this.#awake.set(session, waking);
    try {
      return await waking;
    } catch (error) {
      this.#awake.delete(session);
      // A session that is new to the actor may be one that was deleted: only the log knows.
      const cause = TurnlogError.isInstance(error) ? error.cause : undefined;
      const isGone = TurnlogError.isInstance(cause) && cause.code === "SESSION_DELETED";
      throw isGone ? gone(session, cause) : error;
    }
  }

  assertOpen(session: string): void {
    if (this.#isClosing) throw closed(session);
  }

  /** Stores what is known of a session, so that whoever opens or lists it reads less. */
  keep({ kept }: AwakeSession, moment: KeepingMoment): void {
    kept.keep(moment);
    const { stored } = kept;
    this.#keeping.add(stored);
    void stored.then(() => this.#keeping.delete(stored));
  }

  /** Nothing can be recorded in it any more. */
  forget({ actor, watchers, sleep }: AwakeSession, why: TurnlogError): void {
    clearTimeout(sleep);
    actor[Symbol.dispose]();
    this.#awake.delete(actor.session);
    watchers.fail(why);
  }

  /** Changes what is stored of a session that nobody has in memory meanwhile. */
  async whileAsleep<Result>(session: string, change: () => Promise<Result>): Promise<Result> {
    while (this.#resting.has(session)) await this.#resting.get(session);
    this.assertOpen(session);
    const changed = this.#putAway(session).then(change);
    const resting = changed.then(
      () => this.#resting.delete(session),
      () => this.#resting.delete(session),
    );
    this.#resting.set(session, resting);
    return await changed;
  }

  /** Changes what is stored while nobody wakes up; whoever `change` puts away is woken up again. */
  async whileNobodyWakes<Result>(
    session: string,
    change: (
      awake: ReadonlyMap<string, Promise<AwakeSession>>,
      putAway: (one: AwakeSession) => void,
    ) => Promise<Result>,
  ): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone.catch(() => {});
    this.assertOpen(session);
    const away: string[] = [];
    const changing = change(this.#awake, (one) => {
      away.push(one.actor.session);
      this.forget(one, reopened(one.actor.session));
    });
    this.#alone = changing;
    try {
      return await changing;
    } finally {
      this.#alone = undefined;
      for (const name of away) {
        if (this.#isClosing) break;
        // What the list of sessions knew of it went with its snapshots.
        this.keep(await this.wake(name), "forked");
      }
    }
  }

  /** Gives a session that is at rest the tools that MCP servers have now; absent where there are none. */
  equip(session: string): ((actor: SessionActor) => Promise<void>) | undefined {
    const mcp = this.#mcp;
    if (mcp === undefined) return undefined;
    return async (actor) => {
      if (!isAtRest(actor.state)) return;
      const { prepared } = await this.#equipped(session, mcp);
      if (isAtRest(actor.state)) actor.adopt(prepared);
    };
  }

  /** Stops whatever runs, and resolves when everything that was recorded or kept is stored. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const awake = await Promise.allSettled(this.#awake.values());
    await Promise.allSettled(
      awake.map(async (one) => {
        if (one.status === "fulfilled") await stop(one.value);
      }),
    );
    this.#awake.clear();
    await Promise.all(this.#resting.values());
    await Promise.all(this.#keeping);
  }

  async #equipped(session: string, mcp: OpenMcpServers): Promise<Crew> {
    return await this.#crews.equip(session, await mcp.offer(), mcp.call);
  }

  /** Nobody has it in memory any more. */
  async #putAway(session: string): Promise<void> {
    const awake = await this.#awake.get(session);
    if (awake === undefined) return;
    // Whoever was handed it before now has said what they had to say.
    await setImmediate();
    const { actor, watchers, kept } = awake;
    if (actor.failure !== undefined) return;
    if (!actor.isIdle || watchers.size > 0) {
      throw new TurnlogError(
        "COMMAND_REFUSED",
        `Session ${session} is in use, and nothing of it was dropped. Wait until it is idle, or cancel its turn (\`session.cancel()\`).`,
        { session, position: actor.state.position },
      );
    }
    this.forget(awake, reopened(session));
    await actor.durable();
    await kept.stored;
  }

  #recorded(awake: AwakeSession, event: SessionEvent): void {
    if (event.type.startsWith("part.")) return;
    awake.watchers.look();
    if (event.type === "step.started" || event.type === "turn.ended") this.keep(awake, event.type);
    this.#sleepLater(awake);
  }

  #sleepLater(awake: AwakeSession): void {
    clearTimeout(awake.sleep);
    awake.sleep = undefined;
    const { actor, watchers } = awake;
    if (!awake.isAwake || !isAtRest(actor.state) || this.#isClosing) return;
    awake.sleep = setTimeout(() => {
      if (!isAtRest(actor.state) || watchers.size > 0) return;
      // Whoever wakes it up reads the log: all that it knows has to be there.
      if (!actor.isWritten) return this.#sleepLater(awake);
      // It is recorded, upon which there is waited again.
      if (actor.closeChain()) return;
      actor[Symbol.dispose]();
      this.#awake.delete(actor.session);
    }, this.#host.options.idleAfterMs ?? 60_000);
    awake.sleep.unref();
  }
}

async function stop({ actor, watchers, sleep }: AwakeSession): Promise<void> {
  clearTimeout(sleep);
  if (!isAtRest(actor.state) && actor.failure === undefined) {
    const { turn, stopping, skipCalls } = actor.state.machine.context;
    if (stopping === undefined || !skipCalls) {
      actor.record({
        type: "turn.cancel-requested",
        data: { turn, reason: "the runtime was closed" },
      });
    }
    await watchers.watch(actor, () => (isAtRest(actor.state) ? true : undefined));
  }
  if (actor.failure === undefined) actor.closeChain();
  actor[Symbol.dispose]();
  await actor.durable();
  // Who waits for an approval that may be given after a restart is not left hanging here.
  watchers.fail(closed(actor.session));
}
