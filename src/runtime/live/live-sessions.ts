/** The registry of live sessions: activates each once from its log, and passivates idle ones. */

import { setImmediate } from "node:timers/promises";
import {
  type SessionEvent,
  type TurnlogError,
  isElsewhere,
  type EventLog,
} from "../../events/index.ts";
import { activate, type ActivationHost, type LiveSession, type Opening } from "./live-session.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { HeldValues } from "../session/running-turn.ts";
import type { KeepingMoment } from "../session/snapshot-writer.ts";
import type { SessionActor } from "../session/actor.ts";
import { type Watched, FollowedSessions } from "../session/watchers.ts";
import type { OpenMcpServers } from "../../mcp/index.ts";
import { isAtRest, type SessionState, readSessionState, isIdle } from "../../state/index.ts";
import { giveBack, release, whileClaimed } from "./claims.ts";
import { asGone, closed, reopened, isBack } from "../api/runtime.ts";
import {
  DEFAULT_GRACE_MS,
  Unfinished,
  after,
  settledWithin,
  type Background,
} from "../../shared/index.ts";
import { warnOfFailed } from "../api/runtime-options.ts";
import { agentOf, runningChildren } from "./sub-agents.ts";
import { RuntimeMetrics } from "../figures/runtime-metrics.ts";

/** The events after which a session may have other messages for later. */
const laterEvents: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "message.queued",
  "message.rescheduled",
  "message.withdrawn",
  "session.closed",
]);

interface Later {
  observe(actor: SessionActor): void;
  note(session: string, time: undefined): void;
}

interface LiveSessionsOptions extends Pick<
  ActivationHost,
  | "options"
  | "log"
  | "blobs"
  | "ledger"
  | "circuits"
  | "onWarning"
  | "background"
  | "delegate"
  | "onAbandoned"
> {
  readonly agents: AgentRegistry;
  readonly mcp: OpenMcpServers | undefined;
  /** Is told when a session is active, when its messages for later have changed, and when it is deleted. */
  readonly later: Later | undefined;
  /** Called after each structural event of a live session. */
  readonly onRecorded: (actor: SessionActor, event: SessionEvent) => void;
}

/** The error if a session must stay live. */
type Refusal = (live: LiveSession) => TurnlogError | undefined;

export class LiveSessions {
  readonly mcp: OpenMcpServers | undefined;
  readonly #agents: AgentRegistry;
  readonly #later: Later | undefined;
  readonly #onRecorded: LiveSessionsOptions["onRecorded"];
  readonly #host: ActivationHost;
  readonly #metrics: RuntimeMetrics | undefined;
  readonly #followed: FollowedSessions;
  readonly held = new HeldValues();
  readonly #live = new Map<string, Promise<LiveSession>>();
  /** The live entry of each actor. The same id may since belong to a newer actor. */
  readonly #entries = new WeakMap<SessionActor, Promise<LiveSession>>();
  readonly #waits = new ActivationWaits();
  /** Work on several sessions, such as forks; `close` waits for it. */
  readonly #working = new Unfinished();
  readonly #saving = new Unfinished();
  #isClosing = false;

  constructor({ agents, mcp, later, onRecorded, ...host }: LiveSessionsOptions) {
    this.mcp = mcp;
    this.#followed = new FollowedSessions(host.log);
    this.#agents = agents;
    this.#later = later;
    this.#onRecorded = onRecorded;
    const { meter } = host.options;
    if (meter !== undefined)
      this.#metrics = new RuntimeMetrics(meter, () => this.#live.size, host.circuits);
    this.#host = {
      ...host,
      held: this.held,
      sessionAgent: async (session, names, parent, called) => {
        const agent = await agentOf(host.log, agents, session, names, parent);
        if (called !== undefined && mcp !== undefined)
          await agent.equip(await mcp.offer({ session: session.id }, called), mcp.call);
        return agent;
      },
      // Until the servers have answered, their offer is not known and the agent is not complete.
      isComplete: (agent) => mcp === undefined || agent.mcp !== undefined,
      onFailure: (actor, claim) => {
        this.#drop(actor);
        // The next activation must read the appends that are still on their way.
        this.#released(actor, release(actor, claim, this.#host.background));
      },
      onRecorded: this.#recorded.bind(this),
    };
  }

  /** @throws TurnlogError `RUNTIME_CLOSED`, `SESSION_DELETED`, and what reading the log throws */
  async activate(session: string, opening: Opening = {}): Promise<LiveSession> {
    for (let busy = this.#waits.of(session); busy !== undefined; busy = this.#waits.of(session))
      await busy;
    this.assertOpen(session);
    const known = this.#live.get(session);
    if (known !== undefined) return await known;
    const activation: Promise<LiveSession> = activate(session, this.#host, opening).then(
      (live) => {
        this.#entries.set(live.actor, activation);
        // It failed before its entry was known, and an entry that has failed would never leave.
        if (live.actor.failure !== undefined) {
          this.#drop(live.actor);
          throw live.actor.failure;
        }
        if (live.actor.state.queue.later.length > 0) this.#later?.observe(live.actor);
        this.#passivateLater(live);
        return live;
      },
      async (error: unknown) => {
        if (this.#live.get(session) === activation) this.#live.delete(session);
        this.#host.ledger?.passivated(session, this.isLive);
        throw await asGone(this.#host.log, session, error);
      },
    );
    this.#live.set(session, activation);
    return await activation;
  }

  /**
   * Resolves with the result of `look` after an event, even in an actor that replaced the first one or in the log
   * of a session that another process runs.
   */
  async watch<Found>(
    session: string,
    look: (watched: Watched) => Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    return await watchSession(this, this.#followed, session, look, signal);
  }

  /** The durable state of the actor, or of the log if another process runs the session. */
  async state(session: string): Promise<SessionState> {
    return await durableState(this, this.#host.log, session);
  }

  async working<Result>(session: string, work: () => Promise<Result>): Promise<Result> {
    this.assertOpen(session);
    return await this.#working.add(work());
  }

  /** @param session - None, where all are meant. */
  assertOpen(session?: string): void {
    if (this.#isClosing) throw closed(session);
  }

  /** Stores a snapshot, so that opening or listing the session reads less. */
  keep({ snapshots }: LiveSession, moment: KeepingMoment): void {
    snapshots.keep(moment);
    void this.#saving.add(snapshots.stored);
  }

  /** Keeps a session passive while `change` changes its rows. */
  async whilePassive<Result>(
    session: string,
    refusal: Refusal,
    change: () => Promise<Result>,
  ): Promise<Result> {
    for (let busy = this.#waits.of(session); busy !== undefined; busy = this.#waits.of(session))
      await busy;
    this.assertOpen(session);
    const changed = this.#passivate(session, refusal).then(() => this.claimed(session, change));
    this.#waits.add(session, changed);
    return await changed;
  }

  /** Runs `change` while no session can be activated. Sessions that it passivates are activated again. */
  async whileInactive<Result>(
    session: string,
    change: (
      live: ReadonlyMap<string, Promise<LiveSession>>,
      passivate: (one: LiveSession) => Promise<void>,
    ) => Promise<Result>,
  ): Promise<Result> {
    for (let any = this.#waits.any(); any !== undefined; any = this.#waits.any()) await any;
    this.assertOpen(session);
    const passivated: string[] = [];
    const changing = change(this.#live, async (one) => {
      passivated.push(one.actor.session);
      await this.#forget(one);
    });
    try {
      return await this.#waits.exclusively(changing);
    } finally {
      for (const name of passivated) {
        if (this.#isClosing) break;
        // The summary that the list of sessions reads was removed with the snapshots.
        this.keep(await this.activate(name), "forked");
      }
    }
  }

  /** Runs a change while no other process can take the session. @throws TurnlogError `SESSION_ELSEWHERE` */
  async claimed<Result>(session: string, change: () => Promise<Result>): Promise<Result> {
    const { log, background: later } = this.#host;
    return await whileClaimed(log, session, change, (claim) => giveBack(session, claim, later));
  }

  /** Gives back a session that is not live here, and that a process claimed and left. @throws TurnlogError as `claimed` */
  async giveBack(session: string): Promise<void> {
    if (this.#live.has(session)) return;
    const given = this.claimed(session, async () => {});
    this.#waits.add(session, given);
    await given;
  }

  /** Forgets what is kept of a session that is deleted. */
  forget(session: string): void {
    this.held.forget(session);
    this.#metrics?.forget(session);
    this.#host.ledger?.forget(session);
    this.#agents.forget(session);
    this.#later?.note(session, undefined);
  }

  readonly isLive = (session: string): boolean => this.#live.has(session);

  async actor(session: string): Promise<SessionActor> {
    return (await this.activate(session)).actor;
  }

  /** Leaves or cancels running turns, as `recovery` says unless told otherwise, and resolves when all events and snapshots are stored. */
  async close(leaveTurns?: boolean): Promise<void> {
    this.#isClosing = true;
    await this.#working.settled();
    await this.#followed.close(closed);
    const { background, onWarning, options } = this.#host;
    const { graceMs = DEFAULT_GRACE_MS, recovery } = options;
    const leaves = leaveTurns ?? (recovery === "continue" || undefined);
    const live = await Promise.allSettled(this.#live.values());
    const stopped = await stopAll(
      live.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
      { leaves, graceMs, background, onStopped: (one) => this.keep(one, "passivated") },
    );
    warnOfFailed(stopped, onWarning);
    this.#live.clear();
    await this.#waits.written();
    await this.#saving.settled();
  }

  async #passivate(session: string, refusal: Refusal): Promise<void> {
    const live = await this.#live.get(session);
    if (live === undefined) return;
    // Commands that already hold the actor record their events first.
    await setImmediate();
    const { actor, snapshots } = live;
    if (actor.failure !== undefined) return await actor.settled();
    const refused = refusal(live);
    if (refused !== undefined) throw refused;
    const released = this.#forget(live);
    await actor.durable();
    await snapshots.stored;
    await released;
  }

  #forget({ actor, claim, watchers, idleTimer, snapshots }: LiveSession): Promise<void> {
    const { session } = actor;
    const why = reopened(session);
    idleTimer?.[Symbol.dispose]();
    actor.passivate(why);
    this.#drop(actor);
    const released = release(actor, claim, this.#host.background);
    this.#released(actor, released, snapshots.stored);
    watchers.fail(why);
    return released;
  }

  #released({ session }: SessionActor, released: Promise<void>, stored?: Promise<void>): void {
    this.#waits.add(session, released);
    this.#metrics?.ended(session);
    void Promise.allSettled([released, stored]).then(() =>
      this.#host.ledger?.passivated(session, this.isLive),
    );
  }

  #drop(actor: SessionActor): void {
    const { session } = actor;
    const entry = this.#entries.get(actor);
    if (this.#live.get(session) === entry) this.#live.delete(session);
    // A failed session has a timer too; an activation that failed has none, and tells its caller.
    entry?.then(({ idleTimer }) => idleTimer?.[Symbol.dispose]()).catch(() => {});
  }

  #recorded(live: LiveSession, event: SessionEvent): void {
    const { session, state } = live.actor;
    this.#metrics?.recorded(session, event, state, live.agent.prices);
    if (event.type.startsWith("part.")) return;
    this.#onRecorded(live.actor, event);
    live.watchers.look();
    this.#host.ledger?.observe(session, state, live.agent.prices);
    if (laterEvents.has(event.type)) {
      this.#later?.observe(live.actor);
      if (state.queue.later.length > 0 && isAtRest(state)) this.keep(live, "scheduled");
    }
    if (event.type === "turn.ended" || event.type === "session.closed") this.held.tidy(live.actor);
    if (event.type === "step.started" || event.type === "turn.ended") this.keep(live, event.type);
    this.#passivateLater(live);
  }

  #passivateLater(live: LiveSession): void {
    if (this.#isClosing) return;
    passivateLater(live, this.#host.options.idleAfterMs ?? 60_000, () => {
      this.keep(live, "passivated");
      void this.#forget(live);
    });
  }
}

// Passivates a session that is at rest once it has recorded nothing for a while.

/** Restarts the wait. */
function passivateLater(live: LiveSession, milliseconds: number, passivate: () => void): void {
  live.idleTimer?.[Symbol.dispose]();
  live.idleTimer = undefined;
  const { actor, watchers } = live;
  if (!live.isActive || !isAtRest(actor.state)) return;
  const due = (): void => {
    if (!isAtRest(actor.state) || actor.ended !== undefined) return;
    // A watcher may leave without an event. The next activation reads the log, so all events must be in it.
    if (watchers.size > 0 || !actor.isWritten) return passivateLater(live, milliseconds, passivate);
    // The link is an event, and each event starts the wait again.
    if (actor.closeChain()) return;
    passivate();
  };
  live.idleTimer = after(milliseconds, due, false);
}

/** What an activation waits for: rows of the session that are still being written, and changes to stored sessions. */
class ActivationWaits {
  readonly #sessions = new Map<string, Promise<unknown>>();
  /** A change during which no session may be activated: content being redacted must be in no memory. */
  #exclusive: Promise<unknown> | undefined;

  /** Activations of the session wait until `until` has settled. */
  add(session: string, until: Promise<unknown>): void {
    const before = this.#sessions.get(session);
    const waiting = Promise.allSettled([before, until]).then(() => {
      if (this.#sessions.get(session) === waiting) this.#sessions.delete(session);
    });
    this.#sessions.set(session, waiting);
  }

  /** What holds the session back now. Undefined: nothing, so it may be activated before the next await. */
  of(session: string): Promise<unknown> | undefined {
    return this.#sessions.get(session) ?? this.#exclusive?.catch(() => {});
  }

  /** What holds any session back now. */
  any(): Promise<unknown> | undefined {
    if (this.#sessions.size === 0 && this.#exclusive === undefined) return undefined;
    return Promise.allSettled([...this.#sessions.values(), this.#exclusive]);
  }

  /** Activations of all sessions wait for `change`. Call it while nothing holds any session back. */
  async exclusively<Result>(change: Promise<Result>): Promise<Result> {
    this.#exclusive = change;
    try {
      return await change;
    } finally {
      this.#exclusive = undefined;
    }
  }

  /** Resolves when the rows of passivated sessions are written. */
  async written(): Promise<void> {
    await Promise.all(this.#sessions.values());
  }
}

// Waits for and reads the state of a session, whichever process runs it and however often it is activated.

/** The registry of live sessions. */
interface Live {
  activate(session: string): Promise<LiveSession>;
  actor(session: string): Promise<SessionActor>;
}

async function watchSession<Found>(
  live: Live,
  followed: FollowedSessions,
  session: string,
  look: (watched: Watched) => Found | undefined,
  signal?: AbortSignal,
): Promise<Found> {
  for (;;) {
    try {
      const { actor, watchers } = await live.activate(session);
      return await watchers.watch(actor, () => look(actor), signal);
    } catch (error) {
      if (isBack(error)) continue;
      if (!isElsewhere(error)) throw error;
      return await followed.watch(session, look, signal);
    }
  }
}

async function durableState(live: Live, log: EventLog, session: string): Promise<SessionState> {
  for (;;) {
    try {
      const actor = await live.actor(session);
      // Taken before the wait: events that are recorded during it may not be durable yet.
      const { state } = actor;
      await actor.durable();
      return state;
    } catch (error) {
      if (isBack(error) && isElsewhere(error)) continue;
      if (!isElsewhere(error)) throw error;
      return await readSessionState(log, session);
    }
  }
}

// The end of live sessions with their runtime.

interface Stopping {
  /** Whether running turns are left to the next process. Undefined: where another process may continue them. */
  readonly leaves: boolean | undefined;
  readonly graceMs: number;
  readonly background: Background;
  /** Called when all events of a session are stored. */
  readonly onStopped: (live: LiveSession) => void;
}

/**
 * Ends live sessions with their runtime. Turns for the next process are left as a kill leaves them; others are
 * cancelled, with those of their sub-agents.
 */
async function stopAll(
  live: readonly LiveSession[],
  { leaves, graceMs, background, onStopped }: Stopping,
): Promise<readonly PromiseSettledResult<void>[]> {
  const running = live.filter(({ actor }) => !isAtRest(actor.state));
  const left = running.filter(({ claim }) => leaves ?? claim.epoch !== undefined);
  // All at once: none of them may see another one end.
  for (const { actor } of left) actor.lose(closed(actor.session));
  const cancelled = running.filter((one) => !left.includes(one));
  const called = new Set(cancelled.flatMap(({ actor }) => runningChildren(actor.state)));
  return await Promise.allSettled(
    live.map(async (one) => {
      await stop(one, { graceMs, background, isCalled: called.has(one.actor.session) });
      onStopped(one);
    }),
  );
}

/** @param isCalled - A call waits for the session that is cancelled: its turn ends too, though it waits for people. */
async function stop(
  { actor, claim, watchers, idleTimer }: LiveSession,
  {
    graceMs,
    background,
    isCalled,
  }: Pick<Stopping, "graceMs" | "background"> & { readonly isCalled: boolean },
): Promise<void> {
  const why = closed(actor.session);
  const isOver = (): boolean => (isCalled ? isIdle(actor.state) : isAtRest(actor.state));
  while (!isOver() && actor.ended === undefined) {
    const { turn, stopping, skipCalls } = actor.state.machine.context;
    if (stopping === undefined || !skipCalls) {
      actor.record({
        type: "turn.cancel-requested",
        data: { turn, reason: "the runtime was closed" },
      });
    }
    // A failure ends the wait: then there is nothing left to stop.
    await watchers.watch(actor, () => isOver() || undefined).catch(() => {});
  }
  idleTimer?.[Symbol.dispose]();
  if (actor.failure === undefined) actor.closeChain();
  actor.passivate(why);
  if (actor.failure === undefined) await actor.durable();
  await actor.settled();
  // A callback that never answers must not hold the runtime.
  await settledWithin(graceMs, actor.callbacks);
  await release(actor, claim, background);
  // Watchers of an approval that may come after a restart must not hang.
  watchers.fail(why);
}
