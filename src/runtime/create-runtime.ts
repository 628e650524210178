/** The runtime: opens a store and hands out sessions. It never records an event; see `live-sessions.ts`. */

import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { assertKeysOutside } from "../store/encryption/index.ts";
import {
  ownCopy,
  parseSessionId,
  TurnlogError,
  type DefinedEvents,
  type CollectedBlobs,
  type DeleteOptions,
  type EventLog,
  type EventSchemas,
  type NoEvents,
  type ParentCall,
} from "../events/index.ts";
import type { Backup, BackupOptions, StoreLog, StoreService } from "../store/leveldb/index.ts";
import {
  Consumers,
  type Consumer,
  type ConsumeOptions,
  type ConsumerHandler,
} from "./consumers.ts";
import { LiveSessions } from "./live-sessions.ts";
import {
  openBlobs,
  type OpenedBlobs,
  collectBlobs,
  type DeletedWithBlobs,
} from "../media/index.ts";
import { agentRegistry, type AgentRegistry } from "./agent-registry.ts";
import { encrypted, openPrepared } from "./opened-store.ts";
import { forkLive, type ForkHost } from "./live-fork.ts";
import { assertOpenedAs, configureLive } from "./live-configure.ts";
import { openMcpServers, type OpenMcpServers } from "../mcp/index.ts";
import { redactLive } from "./live-redaction.ts";
import { deleteLive, trimLive, type UpkeepHost } from "./live-upkeep.ts";
import {
  checkPosition,
  inbox,
  listSessions,
  readSummary,
  type ListedSession,
  type SessionQuery,
  type WaitingQuestion,
} from "../state/index.ts";
import {
  deleteSessions,
  type DeletedSessions,
  type DeletionQuery,
  type Redacted,
  type RedactionTarget,
  type RedactOptions,
} from "../archive/index.ts";
import { LaterMessages } from "./later-messages.ts";
import { resumeSessions } from "./resume-sessions.ts";
import type {
  ApprovalsOptions,
  OpenSessionOptions,
  ResumedSessions,
  ResumeOptions,
  Runtime,
} from "./runtime.ts";
import { check, code, name } from "../validation/index.ts";
import { assertMetadata } from "./checked-metadata.ts";
import { SessionLists } from "./session-lists.ts";
import { checkedOptions } from "./runtime-schema.ts";
import {
  approvalsSchema,
  checkedSession,
  consumeSchema,
  consumerNameSchema,
  deleteSchema,
  deletionSchema,
  openSessionSchema,
  redactedSchema,
  sessionQuerySchema,
  redactSchema,
  resumeSchema,
} from "./session-validation.ts";
import { DEFAULT_GRACE_MS, systemTimer, toStoredError } from "../shared/index.ts";
import { assertChildOf, subAgentRunner } from "./sub-agents.ts";
import { hasLog, type RuntimeOptions, type RuntimeSettings } from "./runtime-options.ts";
import { SpendingLedger } from "./spending-ledger.ts";
import type { Session } from "./session.ts";
import { sessionHandle } from "./session-handle.ts";
import { trimLogSchema, type TrimmedLog, type TrimLogOptions } from "../archive/trim/index.ts";

/** Serves a store to other processes while its runtime is open. */
export interface SharedStore {
  /** Takes a connection to the store's socket. */
  readonly accept: (connection: Socket) => void;
  /** Ends all connections. */
  readonly close: () => Promise<void>;
}

export type ShareStore = (runtime: Runtime, store: StoreLog) => SharedStore;

/**
 * Opens a store and runs sessions of an agent on it.
 * @param share - Serves the store to other processes. The module `sharing` gives it: it is above this one.
 * @example
 * await using runtime = await createRuntime({ dir: ".turnlog", agent: { model, instructions, tools } });
 * const session = await runtime.session("s-1");
 * const turn = await session.send("Which tests failed?");
 * const { text } = await turn.result;
 * @throws TurnlogError `INVALID_INPUT`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_TOO_NEW`,
 * `LOG_READ_ONLY`
 */
export async function createRuntime<Events extends EventSchemas = NoEvents>(
  given: RuntimeOptions & { readonly events?: DefinedEvents<Events> },
  share?: ShareStore,
): Promise<Runtime<Events>> {
  const options = checkedOptions(given);
  // Before a store is created.
  if ("dir" in options && options.dir !== undefined && options.encryption !== undefined)
    assertKeysOutside(options.encryption.keys, options.dir);
  if (hasLog(options)) {
    const agents = await agentRegistry(options, options.mcp);
    return new OpenRuntime(options, agents, await encrypted(options, options.log));
  }
  const service: StoreService = {};
  const { agents, store } = await openPrepared(options, service);
  try {
    const runtime = new OpenRuntime(options, agents, await encrypted(options, store), store);
    if (share !== undefined) runtime.share(service, share(runtime, store));
    return runtime;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class OpenRuntime implements Runtime {
  readonly log: EventLog;
  /** Undefined if the user passed a log. */
  readonly #store: StoreLog | undefined;
  readonly #options: RuntimeSettings;
  readonly #agents: AgentRegistry;
  readonly #blobs: OpenedBlobs;
  readonly #mcp: OpenMcpServers | undefined;
  readonly #liveSessions: LiveSessions;
  readonly #later: LaterMessages;
  /** `close` waits for it: it reads the log. */
  readonly #resuming = new Set<Promise<unknown>>();
  #unshare: () => Promise<void> = async () => {};
  readonly #consumers: Consumers;
  readonly #lists: SessionLists;
  #closing: Promise<void> | undefined;

  constructor(options: RuntimeSettings, agents: AgentRegistry, log: EventLog, store?: StoreLog) {
    const onWarning = this.#warn;
    this.log = log;
    this.#store = store;
    this.#options = options;
    this.#agents = agents;
    this.#blobs = openBlobs(options, log);
    const { toolNames: taken } = agents;
    this.#mcp = openMcpServers(options.mcp, { clock: Date.now, ...options, onWarning, taken });
    const { clock = Date.now, timer = systemTimer, replayGate } = options;
    const ledger = this.#openLedger(clock);
    const live = (): LiveSessions => this.#liveSessions;
    this.#later = new LaterMessages({ live, clock, timer, onWarning });
    this.#liveSessions = new LiveSessions({
      options,
      log,
      agents: this.#agents,
      blobs: this.#blobs,
      mcp: this.#mcp,
      delegate: subAgentRunner((child, parent) => this.#openChild(child, parent)),
      onRecorded: (actor, event) => {
        this.#lists.recorded(actor, event);
      },
      ledger,
      onWarning,
      onLater: (actor) => {
        // A replay records the coming of the time when the recording does.
        if (replayGate === undefined) this.#later.observe(actor);
      },
    });
    const { indexed } = options;
    this.#lists = new SessionLists({
      log,
      indexed,
      isLive: (session) => this.#liveSessions.isLive(session),
    });
    if (options.resume === "all") void this.#resumeInBackground();
    const { graceMs = DEFAULT_GRACE_MS } = options;
    this.#consumers = new Consumers({ log, graceMs, onWarning });
  }

  share(service: StoreService, { accept, close }: SharedStore): void {
    service.accept = accept;
    this.#unshare = async () => {
      service.accept = undefined;
      await close();
    };
  }

  async session(id: string = this.#newId(), options: OpenSessionOptions = {}): Promise<Session> {
    const session = parseSessionId(id);
    check(openSessionSchema, options, "session", { name: "options", session });
    const { createIfMissing = true, ...opening } = ownCopy(options);
    if (opening.agent !== undefined) this.#agents.named(opening.agent, "session", session);
    const liveSessions = this.#liveSessions;
    if (opening.metadata !== undefined && (await this.log.revision(session)) === 0)
      await assertMetadata(this.#options.metadataSchema, session, opening.metadata);
    if (!createIfMissing) {
      liveSessions.assertOpen(session);
      await checkPosition(this.log, session);
    }
    assertOpenedAs(await liveSessions.activate(session, opening), opening);
    return this.#handle(session);
  }

  #handle(session: string): Session {
    const liveSessions = this.#liveSessions;
    const opened = sessionHandle(session, {
      log: this.log,
      newId: () => this.#newId(),
      clock: this.#options.clock ?? Date.now,
      attachments: this.#options.attachments ?? {},
      live: liveSessions,
      events: this.#options.events,
      onWarning: this.#warn,
      assertMetadata: (metadata) => assertMetadata(this.#options.metadataSchema, session, metadata),
      redact: (name, what, options) => this.redact(name, what, options),
      configure: (name, changes) =>
        liveSessions.working(name, () =>
          configureLive(name, changes, { agents: this.#agents, live: liveSessions }),
        ),
      fork: (from, fork, recovery) =>
        liveSessions.working(from, async () => {
          const { agent } = await liveSessions.activate(from);
          return await forkLive(from, agent, fork, this.#forkHost(), recovery);
        }),
    });
    return checkedSession(opened);
  }

  /** The session of a sub-agent has the metadata of its parent: it belongs to the same tenant. */
  async #openChild(id: string, parent: ParentCall): Promise<Session> {
    const child = parseSessionId(id);
    const { log } = this;
    const { metadata } = await readSummary(log, parent.session, await log.revision(parent.session));
    // The call runs, so the turn of its session does too, whatever the runtime does with other turns.
    const opening = { parent, metadata, recovery: "continue" } as const;
    const { actor } = await this.#liveSessions.activate(child, opening);
    assertChildOf(child, actor.state.summary.parent, parent);
    return this.#handle(child);
  }

  get blobs(): OpenedBlobs["store"] {
    return this.#blobs.store;
  }

  sessions(query?: SessionQuery): AsyncIterable<ListedSession> {
    if (query === undefined) return listSessions(this.log);
    check(sessionQuerySchema, query, "sessions", { name: "query" });
    return this.#lists.page(ownCopy(query));
  }

  async approvals(options: ApprovalsOptions = {}): Promise<readonly WaitingQuestion[]> {
    check(approvalsSchema, options, "approvals", { name: "options" });
    const { where } = ownCopy(options);
    const now = (this.#options.clock ?? Date.now)();
    return await inbox(this.log, { where, now, onUnreadable: this.#warn });
  }

  async resumeAll(options: ResumeOptions = {}): Promise<ResumedSessions> {
    check(resumeSchema, options, "resumeAll", { name: "options" });
    const live = this.#liveSessions;
    live.assertOpen("any");
    const resuming = resumeSessions({ log: this.log, live, later: this.#later }, ownCopy(options));
    this.#resuming.add(resuming);
    return await resuming.finally(() => this.#resuming.delete(resuming));
  }

  async #resumeInBackground(): Promise<void> {
    try {
      const { failed } = await this.resumeAll();
      for (const { error } of failed) this.#warn(error);
    } catch (error) {
      // The runtime is closed before all sessions were resumed: the next one resumes them.
      if (this.#closing === undefined) this.#warn(asWarning(error));
    }
  }

  async delete(id: string, options: DeleteOptions = {}): Promise<DeletedWithBlobs> {
    const session = parseSessionId(id);
    check(deleteSchema, options, "delete", { name: "options", session });
    return await deleteLive(session, options, this.#upkeepHost());
  }

  async deleteSessions(query: DeletionQuery): Promise<DeletedSessions> {
    check(deletionSchema, query, "deleteSessions", { name: "query" });
    const { forks } = query;
    const host = this.#upkeepHost();
    return await deleteSessions(this.log, ownCopy(query), (session) =>
      deleteLive(session, forks === undefined ? {} : { forks }, host),
    );
  }

  async redact(
    id: string,
    what: readonly RedactionTarget[],
    options: RedactOptions = {},
  ): Promise<Redacted> {
    const session = parseSessionId(id);
    check(redactedSchema, what, "redact", { name: "what", session });
    check(redactSchema, options, "redact", { name: "options", session });
    const { clock = Date.now } = this.#options;
    return await this.#liveSessions.whileInactive(session, (live, passivate) =>
      redactLive(session, what, { ...options, log: this.log, now: clock(), live, passivate }),
    );
  }

  async collectBlobs(): Promise<CollectedBlobs> {
    const { store } = this.#blobs;
    this.#liveSessions.assertOpen("any");
    return store === undefined ? { removed: 0, bytes: 0 } : await collectBlobs(this.log, store);
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    check(name, dir, "backup", { name: "dir" });
    if (this.#store !== undefined) return await this.#store.backup(dir, options);
    throw new TurnlogError(
      "COMMAND_REFUSED",
      "This runtime was given its log and does not know how to copy it. Copy it where you opened it: logs of `openLog` have `backup`.",
    );
  }

  async trimLog(id: string, options: TrimLogOptions): Promise<TrimmedLog> {
    const session = parseSessionId(id);
    check(trimLogSchema, options, "trimLog", { name: "options", session });
    return await trimLive(session, options, this.#store, this.#liveSessions);
  }

  async consume(
    name: string,
    handler: ConsumerHandler,
    options: ConsumeOptions = {},
  ): Promise<Consumer> {
    check(consumerNameSchema, name, "consume", { name: "name" });
    check(code, handler, "consume", { name: "handler" });
    check(consumeSchema, options, "consume", { name: "options" });
    return await this.#consumers.start(name, handler, { ...options });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  readonly #warn = (error: TurnlogError): void => {
    const { onWarning } = this.#options;
    try {
      if (onWarning !== undefined) return onWarning(error);
    } catch (thrown) {
      // An error of the callback must not fail what it reports on.
      process.emitWarning(`\`onWarning\` threw: ${toStoredError(thrown).message}`);
    }
    process.emitWarning(error);
  };

  #newId(): string {
    return (this.#options.newId ?? randomUUID)();
  }

  #openLedger(clock: () => number): SpendingLedger | undefined {
    const { limits } = this.#options;
    if (limits === undefined) return undefined;
    return new SpendingLedger({
      log: this.log,
      limits,
      clock,
      prices: async ({ agent }) => {
        const known = this.#agents.known(agent);
        await known?.catalogue.ready();
        return known?.prices ?? {};
      },
    });
  }

  #upkeepHost(): UpkeepHost {
    return {
      log: this.log,
      blobs: this.#blobs.store,
      live: this.#liveSessions,
      onWarning: this.#warn,
    };
  }

  #forkHost(): ForkHost {
    return {
      log: this.log,
      agents: this.#agents,
      newId: () => this.#newId(),
      clock: this.#options.clock ?? Date.now,
      open: async (session, recovery) => {
        // Without a snapshot the list of sessions reads the whole shared history until the first turn ends.
        this.#liveSessions.keep(await this.#liveSessions.activate(session, { recovery }), "forked");
        return await this.session(session);
      },
    };
  }

  async #close(): Promise<void> {
    this.#later[Symbol.dispose]();
    await this.#unshare();
    this.#lists[Symbol.dispose]();
    await this.#liveSessions.close();
    await Promise.allSettled(this.#resuming);
    await this.#consumers.close();
    await this.#mcp?.close();
    if (!hasLog(this.#options)) await this.log.close();
  }
}

function asWarning(error: unknown): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  return new TurnlogError("LOG_FAILED", "The sessions of the store could not be resumed.", {
    cause: error,
  });
}
