/**
 * The registry of live sessions: activates each once from its log, and passivates idle ones. It decides
 * nothing about what a session records, except that closing cancels turns.
 */

import { setImmediate } from "node:timers/promises";
import { TurnlogError, type SessionEvent } from "../events/index.ts";
import {
  activate,
  stop,
  type ActivationHost,
  type LiveSession,
  type Opening,
} from "./live-session.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { HeldValues, type KeepingMoment, type SessionActor } from "./session/index.ts";
import type { OpenMcpServers } from "../mcp/index.ts";
import { isAtRest } from "../state/index.ts";
import { closed, gone, isBack, reopened } from "./runtime.ts";
import { after, DEFAULT_GRACE_MS } from "../shared/index.ts";
import { agentOf } from "./sub-agents.ts";
import { RuntimeMetrics } from "./runtime-metrics.ts";

export interface LiveSessionsOptions extends Pick<
  ActivationHost,
  "options" | "log" | "blobs" | "ledger" | "onWarning" | "delegate"
> {
  readonly agents: AgentRegistry;
  readonly mcp: OpenMcpServers | undefined;
  /** Called when a session is active, and when its messages for later have changed. */
  readonly onLater: (actor: SessionActor) => void;
  /** Called after each structural event of a live session. */
  readonly onRecorded: (actor: SessionActor, event: SessionEvent) => void;
}

const laterEvents: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "message.queued",
  "message.rescheduled",
  "message.withdrawn",
  "session.closed",
]);

export class LiveSessions {
  readonly #mcp: OpenMcpServers | undefined;
  readonly #onLater: LiveSessionsOptions["onLater"];
  readonly #host: ActivationHost;
  readonly #onRecorded: LiveSessionsOptions["onRecorded"];
  readonly #metrics: RuntimeMetrics | undefined;
  readonly held = new HeldValues();
  readonly #live = new Map<string, Promise<LiveSession>>();
  /** The live entry of each actor. The same id may since belong to a newer actor. */
  readonly #entries = new WeakMap<SessionActor, Promise<LiveSession>>();
  /** Passive sessions whose rows are still being written: their activation waits for these promises. */
  readonly #blocked = new Map<string, Promise<unknown>>();
  /** Work on several sessions, such as forks; `close` waits for it. */
  readonly #working = new Set<Promise<unknown>>();
  readonly #saving = new Set<Promise<void>>();
  /** A change during which no session may be activated: content being redacted must be in no memory. */
  #exclusive: Promise<unknown> | undefined;
  #isClosing = false;

  constructor({ agents, mcp, onLater, onRecorded, ...host }: LiveSessionsOptions) {
    this.#mcp = mcp;
    this.#onLater = onLater;
    this.#onRecorded = onRecorded;
    const { meter } = host.options;
    if (meter !== undefined) this.#metrics = new RuntimeMetrics(meter, () => this.#live.size);
    this.#host = {
      ...host,
      held: this.held,
      sessionAgent: async (session, names, parent, continues) => {
        const agent = await agentOf(host.log, agents, session, names, parent);
        if (continues && mcp !== undefined) await agent.equip(await mcp.offer(), mcp.call);
        return agent;
      },
      // Until the servers have answered, their offer is not known and the agent is not complete.
      isComplete: (agent) => mcp === undefined || agent.mcp !== undefined,
      onFailure: (actor) => {
        this.#drop(actor);
        // The next activation must read the appends that are still on their way.
        this.#block(actor.session, actor.settled());
      },
      onRecorded: (live, event) => {
        this.#recorded(live, event);
      },
    };
  }

  /** @throws TurnlogError `RUNTIME_CLOSED`, `SESSION_DELETED`, and what reading the log throws */
  async activate(session: string, opening: Opening = {}): Promise<LiveSession> {
    let busy = this.#busy(session);
    for (; busy !== undefined; busy = this.#busy(session)) await busy;
    this.assertOpen(session);
    const known = this.#live.get(session);
    if (known !== undefined) return await known;
    const activation: Promise<LiveSession> = activate(session, this.#host, opening).then(
      (live) => {
        this.#entries.set(live.actor, activation);
        if (live.actor.state.queue.later.length > 0) this.#onLater(live.actor);
        this.#passivateLater(live);
        return live;
      },
      (error: unknown) => {
        if (this.#live.get(session) === activation) this.#live.delete(session);
        // Only the append tells that the id belongs to a deleted session.
        const cause = TurnlogError.isInstance(error) ? error.cause : undefined;
        const isGone = TurnlogError.isInstance(cause) && cause.code === "SESSION_DELETED";
        throw isGone ? gone(session, cause) : error;
      },
    );
    this.#live.set(session, activation);
    return await activation;
  }

  /** Resolves with what `look` finds after an event, also in an actor that replaced the first one. */
  async watch<Found>(
    session: string,
    look: (actor: SessionActor) => Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    for (;;) {
      const { actor, watchers } = await this.activate(session);
      try {
        return await watchers.watch(actor, () => look(actor), signal);
      } catch (error) {
        if (!isBack(error)) throw error;
      }
    }
  }

  async working<Result>(session: string, work: () => Promise<Result>): Promise<Result> {
    this.assertOpen(session);
    const done = work();
    this.#working.add(done);
    return await done.finally(() => this.#working.delete(done));
  }

  assertOpen(session: string): void {
    if (this.#isClosing) throw closed(session);
  }

  /** Stores a snapshot, so that opening or listing the session reads less. */
  keep({ snapshots }: LiveSession, moment: KeepingMoment): void {
    snapshots.keep(moment);
    const { stored } = snapshots;
    this.#saving.add(stored);
    void stored.then(() => this.#saving.delete(stored));
  }

  /** Keeps a session passive while `change` changes its rows. `refusal`: the error if it must stay live. */
  async whilePassive<Result>(
    session: string,
    refusal: (live: LiveSession) => TurnlogError | undefined,
    change: () => Promise<Result>,
  ): Promise<Result> {
    let busy = this.#busy(session);
    for (; busy !== undefined; busy = this.#busy(session)) await busy;
    this.assertOpen(session);
    const changed = this.#passivate(session, refusal).then(change);
    this.#block(session, changed);
    return await changed;
  }

  /** Runs `change` while no session can be activated. Sessions that it passivates are activated again. */
  async whileInactive<Result>(
    session: string,
    change: (
      live: ReadonlyMap<string, Promise<LiveSession>>,
      passivate: (one: LiveSession) => void,
    ) => Promise<Result>,
  ): Promise<Result> {
    while (this.#blocked.size > 0 || this.#exclusive !== undefined)
      await Promise.allSettled([...this.#blocked.values(), this.#exclusive]);
    this.assertOpen(session);
    const passivated: string[] = [];
    const changing = change(this.#live, (one) => {
      passivated.push(one.actor.session);
      this.#forget(one);
    });
    this.#exclusive = changing;
    try {
      return await changing;
    } finally {
      this.#exclusive = undefined;
      for (const name of passivated) {
        if (this.#isClosing) break;
        // The summary that the list of sessions reads was removed with the snapshots.
        this.keep(await this.activate(name), "forked");
      }
    }
  }

  /** Forgets what is kept of a session that is deleted. */
  forget(session: string): void {
    this.held.forget(session);
    this.#host.ledger?.forget(session);
  }

  isLive(session: string): boolean {
    return this.#live.has(session);
  }

  async actor(session: string): Promise<SessionActor> {
    return (await this.activate(session)).actor;
  }

  /** The live actor, once its models are known: `known`, an actor that was ready, while it lasts. */
  async ready(session: string, known?: SessionActor): Promise<SessionActor> {
    this.assertOpen(session);
    if (known !== undefined && known.ended === undefined) return known;
    const { actor, agent } = await this.activate(session);
    await agent.catalogue.ready();
    return await this.ready(session, actor);
  }

  /** The actor with the tools that MCP servers offer now, if it is at rest. Without servers, at once. */
  equipped(actor: SessionActor): SessionActor | Promise<SessionActor> {
    return this.#mcp === undefined ? actor : this.#equippedBy(this.#mcp, actor);
  }

  async #equippedBy(servers: OpenMcpServers, actor: SessionActor): Promise<SessionActor> {
    const { session } = actor;
    const { agent } = await this.activate(session);
    if (isAtRest(actor.state)) {
      const prepared = await agent.equip(await servers.offer(), servers.call);
      if (isAtRest(actor.state)) actor.adopt(prepared);
    }
    // The session may have been passivated while servers were started.
    return await this.actor(session);
  }

  /** Cancels running turns, and resolves when all events and snapshots are stored. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#working);
    const live = await Promise.allSettled(this.#live.values());
    const { graceMs = DEFAULT_GRACE_MS } = this.#host.options;
    await Promise.allSettled(
      live.map(async (one) => {
        if (one.status === "fulfilled") await stop(one.value, graceMs);
      }),
    );
    this.#live.clear();
    await Promise.all(this.#blocked.values());
    await Promise.all(this.#saving);
  }

  async #passivate(
    session: string,
    refusal: (live: LiveSession) => TurnlogError | undefined,
  ): Promise<void> {
    const live = await this.#live.get(session);
    if (live === undefined) return;
    // Commands that already hold the actor record their events first.
    await setImmediate();
    const { actor, snapshots } = live;
    if (actor.failure !== undefined) return await actor.settled();
    const refused = refusal(live);
    if (refused !== undefined) throw refused;
    this.#forget(live);
    await actor.durable();
    await snapshots.stored;
  }

  #forget({ actor, watchers, idleTimer }: LiveSession): void {
    const why = reopened(actor.session);
    idleTimer?.[Symbol.dispose]();
    actor.passivate(why);
    this.#drop(actor);
    watchers.fail(why);
  }

  #drop(actor: SessionActor): void {
    const place = this.#entries.get(actor);
    if (place !== undefined && this.#live.get(actor.session) === place)
      this.#live.delete(actor.session);
  }

  #block(session: string, until: Promise<unknown>): void {
    const before = this.#blocked.get(session);
    const blocking = Promise.allSettled([before, until]).then(() => {
      if (this.#blocked.get(session) === blocking) this.#blocked.delete(session);
    });
    this.#blocked.set(session, blocking);
  }

  /** What an activation has to wait for, or undefined. */
  #busy(session: string): Promise<unknown> | undefined {
    return this.#blocked.get(session) ?? this.#exclusive?.catch(() => {});
  }

  #recorded(live: LiveSession, event: SessionEvent): void {
    this.#metrics?.recorded(live.actor.session, event, live.actor.state);
    if (event.type.startsWith("part.")) return;
    this.#onRecorded(live.actor, event);
    live.watchers.look();
    this.#host.ledger?.observe(live.actor.session, live.actor.state, live.agent.prices);
    if (laterEvents.has(event.type)) this.#onLater(live.actor);
    if (event.type === "turn.ended" || event.type === "session.closed") this.held.tidy(live.actor);
    if (event.type === "step.started" || event.type === "turn.ended") this.keep(live, event.type);
    this.#passivateLater(live);
  }

  #passivateLater(live: LiveSession): void {
    live.idleTimer?.[Symbol.dispose]();
    live.idleTimer = undefined;
    const { actor, watchers } = live;
    if (!live.isActive || !isAtRest(actor.state) || this.#isClosing) return;
    const due = (): void => {
      if (!isAtRest(actor.state) || watchers.size > 0 || actor.ended !== undefined) return;
      // The next activation reads the log, so all recorded events must be in it.
      if (!actor.isWritten) return this.#passivateLater(live);
      // The link is an event, and each event starts the wait again.
      if (actor.closeChain()) return;
      actor.passivate(reopened(actor.session));
      this.#drop(actor);
    };
    live.idleTimer = after(this.#host.options.idleAfterMs ?? 60_000, due, false);
  }
}
