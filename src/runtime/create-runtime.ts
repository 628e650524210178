/**
 * The runtime: opens a store, wakes sessions up from their logs and lets go of those that are not
 * in use. Everything that a session does, it does itself; here is only who lives and who sleeps.
 */

import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { encryptedLog } from "../events/encryption/index.ts";
import {
  parseSessionId,
  TurnlogError,
  type CollectedBlobs,
  type DeleteOptions,
  type EventLog,
  type RecoveryPolicy,
  type SessionEvent,
} from "../events/index.ts";
import type { Backup, BackupOptions, StoreLog } from "../events/leveldb/index.ts";
import { openBlobs, type OpenedBlobs } from "./blobs/opened-blobs.ts";
import { collectBlobs, deleteSession, type DeletedWithBlobs } from "./blobs/used-blobs.ts";
import { SessionBlobs } from "./blobs/session-blobs.ts";
import { prepareAgent, type PreparedAgent } from "./agent.ts";
import { checkContext, mediaLimits } from "./context-options.ts";
import { Crews, type Crew } from "./crews.ts";
import { KeptSession, type KeepingMoment } from "./kept-session.ts";
import { forkLive, type ForkHost } from "./live-fork.ts";
import { openMcpServers, type OpenMcpServers } from "./mcp/mcp-servers.ts";
import { isAtRest } from "./recovery.ts";
import { redactLive } from "./live-redaction.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "./redact-session.ts";
import { closed, gone, reopened, type Runtime } from "./runtime.ts";
import { openStore, type RuntimeOptions } from "./runtime-options.ts";
import { openChain } from "./session-chain.ts";
import { SessionActor } from "./session-actor.ts";
import type { Session } from "./session.ts";
import { createSession } from "./session-handle.ts";
import { loadSessionSnapshot } from "./session-snapshot.ts";
import { foldOnwards, listSessions, type ListedSession } from "./session-view.ts";
import type { StepSource } from "./step-source.ts";
import { compactLog, type CompactedLog, type CompactLogOptions } from "./thinning/compact-log.ts";
import { systemTimer } from "./timer.ts";
import { Watchers } from "./watchers.ts";

/** Loaded when the first session wakes up: who only reads a store does not load the AI SDK. */
const sources: Readonly<Record<StepSource["name"], () => Promise<StepSource>>> = {
  "language-model-call": async () => (await import("./language-model-call.ts")).languageModelCall,
  "stream-text": async () => (await import("./stream-text.ts")).streamTextCall,
};

/** A session that is awake. */
interface Live {
  readonly actor: SessionActor;
  readonly watchers: Watchers;
  /** What is stored of it beside its log. */
  readonly kept: KeptSession;
  /** Set when it has been handed out: until then it is only being woken up. */
  isAwake: boolean;
  sleep: NodeJS.Timeout | undefined;
}

/**
 * Opens a store and runs sessions of an agent on it.
 * @throws TurnlogError `INVALID_INPUT`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_READ_ONLY`
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  if ("log" in options) {
    const prepared = await prepareAgent(options.agent);
    return new OpenRuntime(options, prepared, await encrypted(options, options.log));
  }
  const { prepared, store } = await openPrepared(options);
  try {
    return new OpenRuntime(options, prepared, await encrypted(options, store), store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Prepares the agent while the disk takes the store's lock. What is wrong with the agent is told first. */
async function openPrepared(
  options: Exclude<RuntimeOptions, { readonly log: EventLog }>,
): Promise<{ readonly prepared: PreparedAgent; readonly store: StoreLog }> {
  checkContext(options.agent.context);
  const [store, prepared] = await Promise.allSettled([
    openStore(options),
    setImmediate().then(() => prepareAgent(options.agent)),
  ]);
  if (prepared.status === "rejected") {
    if (store.status === "fulfilled") await store.value.close();
    throw prepared.reason;
  }
  if (store.status === "rejected") throw store.reason;
  return { prepared: prepared.value, store: store.value };
}

/** What earlier processes were to erase is erased before anything is read. */
async function encrypted({ encryption }: RuntimeOptions, log: EventLog): Promise<EventLog> {
  if (encryption === undefined) return log;
  const sealing = encryptedLog(log, encryption.keys);
  await sealing.settled();
  return sealing;
}

class OpenRuntime implements Runtime {
  readonly log: EventLog;
  /** The log, where it was opened here. */
  readonly #store: StoreLog | undefined;
  readonly #options: RuntimeOptions;
  readonly #crews: Crews;
  readonly #blobs: OpenedBlobs;
  readonly #mcp: OpenMcpServers | undefined;
  readonly #live = new Map<string, Promise<Live>>();
  /** Sessions whose rows are being changed: nobody wakes them meanwhile. */
  readonly #resting = new Map<string, Promise<unknown>>();
  /** Snapshots that are being stored. */
  readonly #keeping = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;
  /** While it lasts, nobody wakes up: what is redacted must be in nobody's memory. */
  #redacting: Promise<unknown> | undefined;

  constructor(options: RuntimeOptions, prepared: PreparedAgent, log: EventLog, store?: StoreLog) {
    this.#store = store;
    this.#options = options;
    this.#crews = new Crews(options.agent, prepared);
    this.#blobs = openBlobs(options, log);
    this.#mcp = openMcpServers(
      { clock: Date.now, ...options, onWarning: this.#warn },
      prepared.agent,
    );
    this.log = log;
  }

  async session(id: string = this.#newId()): Promise<Session> {
    const session = parseSessionId(id);
    await this.#wake(session);
    return createSession(session, {
      log: this.log,
      newId: () => this.#newId(),
      attachments: this.#options.attachments ?? {},
      ready: () => this.#crews.of(session).catalogue.ready(),
      redact: (name, what, options) => this.redact(name, what, options),
      equip: this.#equip(session),
      fork: (from, fork, recovery) => forkLive(from, fork, this.#forkHost(), recovery),
      actor: async (name) => (await this.#wake(name)).actor,
      watch: async (actor, look) => {
        const live = await this.#wake(actor.session);
        return await live.watchers.watch(actor, look);
      },
    });
  }

  sessions(): AsyncIterable<ListedSession> {
    return listSessions(this.log);
  }

  async delete(id: string, options: DeleteOptions = {}): Promise<DeletedWithBlobs> {
    const session = parseSessionId(id);
    if (this.#closing !== undefined) throw closed(session);
    const live = await this.#live.get(session);
    if (live !== undefined && !isAtRest(live.actor.state) && live.actor.failure === undefined) {
      throw new TurnlogError(
        "COMMAND_REFUSED",
        `Session ${session} runs a turn and was not deleted. Cancel it first (\`session.cancel()\`), or wait until it has ended.`,
        { session, position: live.actor.state.position },
      );
    }
    // What is being kept of it goes with it.
    await live?.kept.stored;
    const { store } = this.#blobs;
    const deleted = await deleteSession(this.log, store, session, options, this.#warn);
    if (live !== undefined) this.#forget(live, gone(session));
    return deleted;
  }

  /** Nothing can be recorded in it any more. */
  #forget(live: Live, why: TurnlogError): void {
    const { actor, watchers, sleep } = live;
    clearTimeout(sleep);
    actor[Symbol.dispose]();
    this.#live.delete(actor.session);
    watchers.fail(why);
  }

  async redact(
    id: string,
    what: readonly RedactionTarget[],
    options: RedactOptions = {},
  ): Promise<Redacted> {
    const session = parseSessionId(id);
    while (this.#redacting !== undefined) await this.#redacting.catch(() => {});
    if (this.#closing !== undefined) throw closed(session);
    const putAway: string[] = [];
    const redacting = redactLive(session, what, {
      ...options,
      log: this.log,
      now: (this.#options.clock ?? Date.now)(),
      awake: this.#live,
      putAway: (live) => {
        putAway.push(live.actor.session);
        this.#forget(live, reopened(live.actor.session));
      },
    });
    this.#redacting = redacting;
    try {
      return await redacting;
    } finally {
      this.#redacting = undefined;
      // Who was awake is so again, with what there is now.
      for (const name of putAway) {
        if (this.#closing !== undefined) break;
        // What the list of sessions knew of it went with its snapshots.
        this.#keep(await this.#wake(name), "forked");
      }
    }
  }

  async collectBlobs(): Promise<CollectedBlobs> {
    const { store } = this.#blobs;
    if (this.#closing !== undefined) throw closed("any");
    return store === undefined ? { removed: 0, bytes: 0 } : await collectBlobs(this.log, store);
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    if (this.#store !== undefined) return await this.#store.backup(dir, options);
    throw new TurnlogError(
      "COMMAND_REFUSED",
      "This runtime was given its log and does not know how to copy it. Copy it where you opened it: logs of `openLog` have `backup`.",
    );
  }

  async compactLog(id: string, options: CompactLogOptions): Promise<CompactedLog> {
    const session = parseSessionId(id);
    const store = this.#store;
    if (store === undefined) {
      throw new TurnlogError(
        "COMMAND_REFUSED",
        `This runtime was given its log, and nothing of session ${session} was dropped. Call \`compactLog\` with the log, where you opened it, when nobody runs the session.`,
        { session },
      );
    }
    while (this.#resting.has(session)) await this.#resting.get(session);
    if (this.#closing !== undefined) throw closed(session);
    const compacted = this.#putAway(session).then(() => compactLog(store, session, options));
    const resting = compacted.then(
      () => this.#resting.delete(session),
      () => this.#resting.delete(session),
    );
    this.#resting.set(session, resting);
    return await compacted;
  }

  /** Nobody has it in memory any more. */
  async #putAway(session: string): Promise<void> {
    const live = await this.#live.get(session);
    if (live === undefined) return;
    // Whoever was handed it before now has said what they had to say.
    await setImmediate();
    const { actor, watchers, kept } = live;
    if (actor.failure !== undefined) return;
    if (!actor.isIdle || watchers.size > 0) {
      throw new TurnlogError(
        "COMMAND_REFUSED",
        `Session ${session} is in use, and nothing of it was dropped. Wait until it is idle, or cancel its turn (\`session.cancel()\`).`,
        { session, position: actor.state.position },
      );
    }
    this.#forget(live, reopened(session));
    await actor.durable();
    await kept.stored;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  readonly #warn = (error: TurnlogError): void => {
    const { onWarning = (told: TurnlogError): void => process.emitWarning(told) } = this.#options;
    onWarning(error);
  };

  #newId(): string {
    return (this.#options.newId ?? randomUUID)();
  }

  #forkHost(): ForkHost {
    return {
      log: this.log,
      crews: this.#crews,
      newId: () => this.#newId(),
      attachments: this.#options.attachments ?? {},
      clock: this.#options.clock ?? Date.now,
      open: async (session, recovery) => {
        // Until its first turn ends, the list of sessions would have to read all that it shares.
        this.#keep(await this.#wake(session, recovery), "forked");
        return await this.session(session);
      },
    };
  }

  async #wake(session: string, recovery?: RecoveryPolicy): Promise<Live> {
    while (this.#resting.has(session)) await this.#resting.get(session);
    while (this.#redacting !== undefined) await this.#redacting.catch(() => {});
    if (this.#closing !== undefined) {
      throw closed(session);
    }
    const known = this.#live.get(session);
    if (known !== undefined) return await known;
    const waking = this.#load(session, recovery);
    this.#live.set(session, waking);
    try {
      return await waking;
    } catch (error) {
      this.#live.delete(session);
      // A session that is new to the actor may be one that was deleted: only the log knows.
      const cause = TurnlogError.isInstance(error) ? error.cause : undefined;
      const isGone = TurnlogError.isInstance(cause) && cause.code === "SESSION_DELETED";
      throw isGone ? gone(session, cause) : error;
    }
  }

  async #load(
    session: string,
    recovery: RecoveryPolicy = this.#options.recovery ?? "stop",
  ): Promise<Live> {
    const { stepSource = "language-model-call", graceMs = 1000 } = this.#options;
    const { maxRecoveries = 3, hashChain = false } = this.#options;
    const { clock = Date.now, random = Math.random, timer = systemTimer } = this.#options;
    const kept = await loadSessionSnapshot(this.log, session);
    const state = await foldOnwards(this.log, session, kept.state);
    // What was left in the middle of a turn may go on with a step.
    const goesOn = !isAtRest(state) && recovery === "continue";
    const { prepared, catalogue } =
      goesOn && this.#mcp !== undefined
        ? await this.#equipped(session, this.#mcp)
        : this.#crews.of(session);
    const watchers = new Watchers();
    const blobs = new SessionBlobs({
      session,
      ...this.#blobs,
      media: mediaLimits(prepared.description.model, prepared.agent.context),
      known: () => actor.state.blobs,
      onWarning: this.#warn,
    });
    const actor: SessionActor = new SessionActor(
      {
        session,
        log: this.log,
        prepared,
        blobs,
        source: await sources[stepSource](),
        catalogue,
        chain: hashChain ? await openChain(this.log, session, state) : undefined,
        recovery,
        maxRecoveries,
        graceMs,
        clock,
        timer,
        random,
        onFailure: (error) => {
          this.#live.delete(session);
          watchers.fail(error);
        },
        onRecorded: (event) => {
          this.#recorded(live, event);
        },
      },
      state,
    );
    const live: Live = {
      actor,
      watchers,
      kept: new KeptSession({
        log: this.log,
        actor,
        kept,
        onWarning: this.#warn,
      }),
      isAwake: false,
      sleep: undefined,
    };
    await this.#introduce(actor, prepared);
    // What was left in the middle of a turn may go on with a step.
    if (!isAtRest(actor.state)) await catalogue.ready();
    actor.recover();
    live.isAwake = true;
    this.#sleepLater(live);
    return live;
  }

  #equip(session: string): ((actor: SessionActor) => Promise<void>) | undefined {
    const mcp = this.#mcp;
    if (mcp === undefined) return undefined;
    return async (actor) => {
      if (!isAtRest(actor.state)) return;
      const { prepared } = await this.#equipped(session, mcp);
      if (isAtRest(actor.state)) actor.adopt(prepared);
    };
  }

  async #equipped(session: string, mcp: OpenMcpServers): Promise<Crew> {
    return await this.#crews.equip(session, await mcp.offer(), mcp.call);
  }

  /** A new session is told who runs it; an old one only when that has changed. */
  async #introduce(actor: SessionActor, { description: agent }: PreparedAgent): Promise<void> {
    if (actor.state.position === 0) {
      actor.record({ type: "session.created", data: { agent } });
      await actor.durable();
    } else if (
      // What its servers offer is not known yet: it is told when it is.
      (this.#mcp === undefined || agent.mcp !== undefined) &&
      actor.state.summary.agentDigest !== agent.digest &&
      !actor.state.machine.matches("closed")
    ) {
      actor.record({ type: "session.configured", data: { agent } });
    }
  }

  #recorded(live: Live, event: SessionEvent): void {
    if (event.type.startsWith("part.")) return;
    live.watchers.look();
    if (event.type === "step.started" || event.type === "turn.ended") this.#keep(live, event.type);
    this.#sleepLater(live);
  }

  #keep({ kept }: Live, moment: KeepingMoment): void {
    kept.keep(moment);
    const { stored } = kept;
    this.#keeping.add(stored);
    void stored.then(() => this.#keeping.delete(stored));
  }

  #sleepLater(live: Live): void {
    clearTimeout(live.sleep);
    live.sleep = undefined;
    if (!live.isAwake || !isAtRest(live.actor.state) || this.#closing !== undefined) return;
    live.sleep = setTimeout(() => {
      if (!isAtRest(live.actor.state) || live.watchers.size > 0) return;
      // Whoever wakes it up reads the log: all that it knows has to be there.
      if (!live.actor.isWritten) return this.#sleepLater(live);
      // It is recorded, upon which there is waited again.
      if (live.actor.closeChain()) return;
      live.actor[Symbol.dispose]();
      this.#live.delete(live.actor.session);
    }, this.#options.idleAfterMs ?? 60_000);
    live.sleep.unref();
  }

  async #close(): Promise<void> {
    const awake = await Promise.allSettled(this.#live.values());
    await Promise.allSettled(
      awake.map(async (one) => {
        if (one.status === "fulfilled") await this.#stop(one.value);
      }),
    );
    this.#live.clear();
    await Promise.all(this.#resting.values());
    await Promise.all(this.#keeping);
    await this.#mcp?.close();
    if (!("log" in this.#options)) await this.log.close();
  }

  async #stop({ actor, watchers, sleep }: Live): Promise<void> {
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
}
