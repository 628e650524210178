/**
 * Who lives and who sleeps: wakes sessions up from their logs, once each, and lets go of those that
 * are not in use. Everything that a session does, it does itself. Used by the runtime alone.
 */

import { setImmediate } from "node:timers/promises";
import { TurnlogError, type RecoveryPolicy, type SessionEvent } from "../events/index.ts";
import { activate, type LiveSession, type ActivationHost } from "./live-session.ts";
import type { SessionAgent, AgentRegistry } from "./agent-registry.ts";
import type { KeepingMoment, SessionActor } from "./session/index.ts";
import type { OpenMcpServers } from "../mcp/index.ts";
import { isAtRest } from "../state/index.ts";
import { closed, gone, isBack, reopened } from "./runtime.ts";
import { after } from "../shared/index.ts";

export interface LiveSessionsOptions extends Pick<
  ActivationHost,
  "options" | "log" | "blobs" | "onWarning"
> {
  readonly agents: AgentRegistry;
  readonly mcp: OpenMcpServers | undefined;
}

export class LiveSessions {
  readonly #agents: AgentRegistry;
  readonly #mcp: OpenMcpServers | undefined;
  readonly #host: ActivationHost;
  readonly #live = new Map<string, Promise<LiveSession>>();
  /** By whom a session is run, what it is known by above: a name may have been given to another since. */
  readonly #places = new WeakMap<SessionActor, Promise<LiveSession>>();
  /** Sessions of which something is still being written by nobody who is awake: nobody wakes them meanwhile. */
  readonly #resting = new Map<string, Promise<unknown>>();
  /** What is done with several sessions at once, which closing waits for. */
  readonly #working = new Set<Promise<unknown>>();
  /** Snapshots that are being stored. */
  readonly #keeping = new Set<Promise<void>>();
  /** While it lasts, nobody wakes up: what is redacted must be in nobody's memory. */
  #alone: Promise<unknown> | undefined;
  #isClosing = false;

  constructor({ agents, mcp, ...lent }: LiveSessionsOptions) {
    this.#agents = agents;
    this.#mcp = mcp;
    this.#host = {
      ...lent,
      sessionAgent: async (session, goesOn) =>
        goesOn && mcp !== undefined ? await this.#equipped(session, mcp) : agents.of(session),
      // What its servers offer is not known yet: it is told when it is.
      isComplete: (agent) => mcp === undefined || agent.mcp !== undefined,
      onFailure: (actor) => {
        this.#drop(actor);
        // Whoever wakes it up again reads what this one may still be writing.
        this.#rest(actor.session, actor.settled());
      },
      onRecorded: (live, event) => {
        this.#recorded(live, event);
      },
    };
  }

  /** @throws TurnlogError `RUNTIME_CLOSED`, `SESSION_DELETED`, and what reading the log throws */
  async activate(session: string, recovery?: RecoveryPolicy): Promise<LiveSession> {
    let busy = this.#busy(session);
    for (; busy !== undefined; busy = this.#busy(session)) await busy;
    this.assertOpen(session);
    const known = this.#live.get(session);
    if (known !== undefined) return await known;
    const activation: Promise<LiveSession> = activate(session, this.#host, recovery).then(
      (live) => {
        this.#places.set(live.actor, activation);
        this.#sleepLater(live);
        return live;
      },
      (error: unknown) => {
        if (this.#live.get(session) === activation) this.#live.delete(session);
        // A session that is new to the actor may be one that was deleted: only the log knows.
        const cause = TurnlogError.isInstance(error) ? error.cause : undefined;
        const isGone = TurnlogError.isInstance(cause) && cause.code === "SESSION_DELETED";
        throw isGone ? gone(session, cause) : error;
      },
    );
    this.#live.set(session, activation);
    return await activation;
  }

  /** Resolves with what `look` finds after an event, whoever runs the session by then. */
  async watch<Found>(
    session: string,
    look: (actor: SessionActor) => Found | undefined,
  ): Promise<Found> {
    for (;;) {
      const { actor, watchers } = await this.activate(session);
      try {
        return await watchers.watch(actor, () => look(actor));
      } catch (error) {
        if (!isBack(error)) throw error;
      }
    }
  }

  /** Does something that closing waits for. */
  async working<Result>(session: string, work: () => Promise<Result>): Promise<Result> {
    this.assertOpen(session);
    const done = work();
    this.#working.add(done);
    try {
      return await done;
    } finally {
      this.#working.delete(done);
    }
  }

  assertOpen(session: string): void {
    if (this.#isClosing) throw closed(session);
  }

  /** Stores what is known of a session, so that whoever opens or lists it reads less. */
  keep({ snapshots }: LiveSession, moment: KeepingMoment): void {
    snapshots.keep(moment);
    const { stored } = snapshots;
    this.#keeping.add(stored);
    void stored.then(() => this.#keeping.delete(stored));
  }

  /**
   * Changes what is stored of a session that nobody has in memory meanwhile.
   * @param refusal - Why one that is awake is left alone, if it is.
   */
  async whileAsleep<Result>(
    session: string,
    refusal: (live: LiveSession) => TurnlogError | undefined,
    change: () => Promise<Result>,
  ): Promise<Result> {
    let busy = this.#busy(session);
    for (; busy !== undefined; busy = this.#busy(session)) await busy;
    this.assertOpen(session);
    const changed = this.#putAway(session, refusal).then(change);
    this.#rest(session, changed);
    return await changed;
  }

  /** Changes what is stored while nobody wakes up; whoever `change` puts away is woken up again. */
  async whileInactive<Result>(
    session: string,
    change: (
      live: ReadonlyMap<string, Promise<LiveSession>>,
      passivateAll: (one: LiveSession) => void,
    ) => Promise<Result>,
  ): Promise<Result> {
    while (this.#resting.size > 0 || this.#alone !== undefined)
      await Promise.allSettled([...this.#resting.values(), this.#alone]);
    this.assertOpen(session);
    const away: string[] = [];
    const changing = change(this.#live, (one) => {
      away.push(one.actor.session);
      this.#forget(one);
    });
    this.#alone = changing;
    try {
      return await changing;
    } finally {
      this.#alone = undefined;
      for (const name of away) {
        if (this.#isClosing) break;
        // What the list of sessions knew of it went with its snapshots.
        this.keep(await this.activate(name), "forked");
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
    await Promise.allSettled(this.#working);
    const awake = await Promise.allSettled(this.#live.values());
    await Promise.allSettled(
      awake.map(async (one) => {
        if (one.status === "fulfilled") await stop(one.value);
      }),
    );
    this.#live.clear();
    await Promise.all(this.#resting.values());
    await Promise.all(this.#keeping);
  }

  async #equipped(session: string, mcp: OpenMcpServers): Promise<SessionAgent> {
    return await this.#agents.equip(session, await mcp.offer(), mcp.call);
  }

  /** Nobody has it in memory any more. */
  async #putAway(
    session: string,
    refusal: (live: LiveSession) => TurnlogError | undefined,
  ): Promise<void> {
    const live = await this.#live.get(session);
    if (live === undefined) return;
    // Whoever was handed it before now has said what they had to say.
    await setImmediate();
    const { actor, snapshots } = live;
    if (actor.failure !== undefined) return await actor.settled();
    const refused = refusal(live);
    if (refused !== undefined) throw refused;
    this.#forget(live);
    await actor.durable();
    await snapshots.stored;
  }

  /** Nothing can be recorded in it any more: who waits for it waits for the one that is woken up next. */
  #forget({ actor, watchers, sleep }: LiveSession): void {
    const why = reopened(actor.session);
    sleep?.[Symbol.dispose]();
    actor.passivate(why);
    this.#drop(actor);
    watchers.fail(why);
  }

  #drop(actor: SessionActor): void {
    const place = this.#places.get(actor);
    if (place !== undefined && this.#live.get(actor.session) === place)
      this.#live.delete(actor.session);
  }

  /** Nobody wakes it up before that is over. */
  #rest(session: string, until: Promise<unknown>): void {
    const before = this.#resting.get(session);
    const resting = Promise.allSettled([before, until]).then(() => {
      if (this.#resting.get(session) === resting) this.#resting.delete(session);
    });
    this.#resting.set(session, resting);
  }

  /** Resolves when something is over that a session has to wait for; undefined where there is nothing. */
  #busy(session: string): Promise<unknown> | undefined {
    return this.#resting.get(session) ?? this.#alone?.catch(() => {});
  }

  #recorded(live: LiveSession, event: SessionEvent): void {
    if (event.type.startsWith("part.")) return;
    live.watchers.look();
    if (event.type === "step.started" || event.type === "turn.ended") this.keep(live, event.type);
    this.#sleepLater(live);
  }

  #sleepLater(live: LiveSession): void {
    live.sleep?.[Symbol.dispose]();
    live.sleep = undefined;
    const { actor, watchers } = live;
    if (!live.isAwake || !isAtRest(actor.state) || this.#isClosing) return;
    const due = (): void => {
      if (!isAtRest(actor.state) || watchers.size > 0 || actor.ended !== undefined) return;
      // Whoever wakes it up reads the log: all that it knows has to be there.
      if (!actor.isWritten) return this.#sleepLater(live);
      // It is recorded, upon which there is waited again.
      if (actor.closeChain()) return;
      actor.passivate(reopened(actor.session));
      this.#drop(actor);
    };
    live.sleep = after(this.#host.options.idleAfterMs ?? 60_000, due, false);
  }
}

async function stop({ actor, watchers, sleep }: LiveSession): Promise<void> {
  const why = closed(actor.session);
  while (!isAtRest(actor.state) && actor.ended === undefined) {
    const { turn, stopping, skipCalls } = actor.state.machine.context;
    if (stopping === undefined || !skipCalls) {
      actor.record({
        type: "turn.cancel-requested",
        data: { turn, reason: "the runtime was closed" },
      });
    }
    // It is not waited for in vain: if it fails, there is nothing left to stop.
    await watchers.watch(actor, () => isAtRest(actor.state) || undefined).catch(() => {});
  }
  sleep?.[Symbol.dispose]();
  if (actor.failure === undefined) actor.closeChain();
  actor.passivate(why);
  if (actor.failure === undefined) await actor.durable();
  await actor.settled();
  // Who waits for an approval that may be given after a restart is not left hanging here.
  watchers.fail(why);
}
