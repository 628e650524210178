/** The open runtime: hands out sessions and does the work on stored ones. It never records an event. */

import {
  defined,
  ownCopy,
  parseSessionId,
  TurnlogError,
  type CollectedBlobs,
  type EventLog,
} from "../events/index.ts";
import type { Agent } from "../agent/index.ts";
import type { Backup, BackupOptions, StoreLog, StoreService } from "../store/leveldb/index.ts";
import {
  Consumers,
  type Consumer,
  type ConsumeOptions,
  type ConsumerHandler,
} from "./api/consumers.ts";
import { LiveSessions } from "./live/live-sessions.ts";
import {
  openBlobs,
  type OpenedBlobs,
  collectBlobs,
  deletedSchema,
  type DeletedWithBlobs,
} from "../media/index.ts";
import { type AgentRegistry, agentRegistry } from "./live/agent-registry.ts";
import type { FinishedLogin, OpenMcpServers } from "../mcp/index.ts";
import { redactHere, deleteLive, type UpkeepHost } from "./elsewhere/live-upkeep.ts";
import {
  inbox,
  listSessions,
  SessionLists,
  summaryKeeper,
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
import { deletion, redaction, redactionSchema, type DeletionOptions } from "../commands/index.ts";
import { warningsTo, hasLog, type RuntimeSettings, openStore } from "./api/runtime-options.ts";
import {
  closed,
  type ApprovalsOptions,
  type FinishLoginOptions,
  type OpenSessionOptions,
  type ResumedSessions,
  type CloseOptions,
  type ResumeOptions,
  type Runtime,
} from "./api/runtime.ts";
import { OpenedSessions } from "./opened-sessions.ts";
import {
  Background,
  DEFAULT_GRACE_MS,
  systemTimer,
  Unfinished,
  withPlainEvents,
} from "../shared/index.ts";
import { LaterMessages } from "./live/later-messages.ts";
import {
  resumeInBackground,
  RESUMED_AT_ONCE,
  resumeSessions,
  type ResumeHost,
} from "./elsewhere/resume-sessions.ts";
import { check, code, name } from "../validation/index.ts";
import {
  approvalsSchema,
  finishLoginSchema,
  billQuerySchema,
  consumeSchema,
  consumerNameSchema,
  deletionSchema,
  sessionQuerySchema,
  closeSchema,
  resumeSchema,
} from "./api/runtime-schema.ts";
import { subAgentRunner } from "./live/sub-agents.ts";
import { SessionInbox } from "./elsewhere/inbox.ts";
import type { Session } from "./api/session.ts";
import { BillModel } from "./figures/bill-model.ts";
import { type Circuit, Circuits } from "./model/failover.ts";
import { SpendingLedger } from "./figures/spending-ledger.ts";
import { billRows, type BillQuery, type BillRow } from "../context/index.ts";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { encryptingLog } from "../store/encryption/index.ts";

export class OpenRuntime implements Runtime {
  readonly log: EventLog;
  readonly #warn: (error: TurnlogError) => void;
  /** Undefined if the user passed a log. */
  readonly #store: StoreLog | undefined;
  readonly #options: RuntimeSettings;
  readonly #blobs: OpenedBlobs;
  readonly #mcp: OpenMcpServers | undefined;
  readonly #bill: BillModel;
  readonly #liveSessions: LiveSessions;
  readonly #background: Background;
  readonly #resumes: Background;
  readonly #later: LaterMessages;
  /** `close` waits for it: it reads the log. */
  readonly #reading = new Unfinished();
  #inbox: SessionInbox | undefined;
  #circuits: Circuits | undefined;
  readonly #closed = new AbortController();
  #unshare: () => Promise<void> = async () => {};
  readonly #consumers: Consumers;
  readonly #lists: SessionLists;
  readonly #sessions: OpenedSessions;
  #closing: Promise<void> | undefined;

  constructor(
    options: RuntimeSettings,
    agents: AgentRegistry,
    mcp: OpenMcpServers | undefined,
    log: EventLog,
    store?: StoreLog,
  ) {
    const onWarning = warningsTo(options.onWarning);
    this.#warn = onWarning;
    this.log = log;
    this.#store = store;
    this.#options = options;
    this.#blobs = openBlobs(options, log);
    this.#mcp = mcp;
    const { clock = Date.now, timer = systemTimer, recording, limits } = options;
    const keys = ["tenant", ...(options.bill?.keys ?? []), ...Object.keys(limits?.perKey ?? {})];
    const ready = (): Promise<void> => agents.ready();
    this.#bill = new BillModel({
      log,
      keys: [...new Set(keys)].toSorted(),
      prices: ({ agent }) => agents.prices(agent),
      ready,
      onWarning,
    });
    const spending = { log, bill: this.#bill, clock, ready, prices: agents.prices.bind(agents) };
    const ledger = limits && new SpendingLedger({ ...spending, limits });
    const { circuitBreaker = {} } = options;
    if (circuitBreaker !== false) this.#circuits = new Circuits(circuitBreaker, clock);
    const background = (this.#background = new Background({ timer, onWarning }));
    this.#resumes = new Background({ timer, onWarning, concurrency: RESUMED_AT_ONCE });
    this.#later = new LaterMessages({ live: () => this.#liveSessions, clock, timer, onWarning });
    this.#liveSessions = new LiveSessions({
      options,
      log,
      agents,
      blobs: this.#blobs,
      mcp: this.#mcp,
      delegate: subAgentRunner((...call) => this.#sessions.child(...call), background),
      onAbandoned: (actor, children) => this.#sessions.cancelAbandoned(actor, children),
      onRecorded: ({ session, state }, { time }) =>
        this.#lists.recorded(session, state.summary, time),
      ledger,
      circuits: this.#circuits,
      onWarning,
      background,
      // A replay records the coming of the time when the recording does.
      later: recording?.isReplay === true ? undefined : this.#later,
    });
    this.#sessions = new OpenedSessions({
      log,
      options,
      agents,
      live: this.#liveSessions,
      onWarning,
      delete: (...asked) => deleteLive(...asked, this.#upkeepHost()),
      redact: (...asked) => redactHere(...asked, this.#upkeepHost()),
      closing: this.#closed.signal,
    });
    this.#lists = new SessionLists({
      log,
      indexed: options.indexed,
      isLive: (session) => this.#liveSessions.isLive(session),
      keep: summaryKeeper(log, onWarning),
    });
    const { inbox } = log;
    if (inbox !== undefined) {
      const execute = this.#sessions.execute.bind(this.#sessions);
      this.#inbox = new SessionInbox({ inbox, execute, upkeep: this.#upkeepHost() });
    }
    if (options.resume === "all")
      void resumeInBackground(this.#resumeHost(), { all: this.#background, each: this.#resumes });
    const { graceMs = DEFAULT_GRACE_MS } = options;
    this.#consumers = new Consumers({ log, timer, graceMs, onWarning });
  }

  share(service: StoreService, { accept, close }: SharedStore): void {
    service.accept = accept;
    this.#unshare = async () => {
      service.accept = undefined;
      await close();
    };
  }

  async session(id?: string, options: OpenSessionOptions = {}): Promise<Session> {
    return await this.#sessions.open(id, options);
  }

  agentOf(session: string, name?: string): Promise<Agent> {
    return this.#sessions.agentOf(session, name);
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

  async finishLogin(
    query: URLSearchParams,
    options: FinishLoginOptions = {},
  ): Promise<FinishedLogin> {
    if (!(query instanceof URLSearchParams))
      throw new TurnlogError(
        "INVALID_INPUT",
        "finishLogin: query must be the `URLSearchParams` of the callback's address.",
      );
    check(finishLoginSchema, options, "finishLogin", { name: "options" });
    const { mayAnswer } = options;
    this.#liveSessions.assertOpen();
    if (this.#mcp === undefined)
      throw new TurnlogError("COMMAND_REFUSED", "This runtime has no MCP servers (`mcp`).");
    const waiting = waitingLogins(await this.approvals(), query);
    const { login, end } = await this.#mcp.finishLogin(query, async (finished) => {
      if (mayAnswer === undefined) return true;
      const asked = waiting.filter(({ state }) => state === query.get("state"));
      for (const { question } of asked) if (await mayAnswer(question, finished)) return true;
      return false;
    });
    for (const { question } of waiting) {
      try {
        await (await this.session(question.session)).approve(question.approval.approvalId);
      } catch (error) {
        // One that cannot be answered keeps no other waiting.
        if (!TurnlogError.isInstance(error)) throw error;
        // It was answered, or its turn cancelled, in the meantime.
        if (!noLongerWaits.has(error.code)) this.#warn(error);
      }
    }
    await end();
    return login;
  }

  async bill(query: BillQuery = {}): Promise<readonly BillRow[]> {
    check(billQuerySchema, query, "bill", { name: "query" });
    const own = ownCopy(query);
    this.#bill.assertNames("by", [own.by ?? []].flat());
    this.#bill.assertNames("where", Object.keys(own.where ?? {}));
    this.#liveSessions.assertOpen();
    await this.#reading.add(this.#bill.caughtUp());
    return billRows(this.#bill.cells(), own);
  }

  circuits(): readonly Circuit[] {
    return this.#circuits?.list() ?? [];
  }

  async resumeAll(options: ResumeOptions = {}): Promise<ResumedSessions> {
    check(resumeSchema, options, "resumeAll", { name: "options" });
    this.#liveSessions.assertOpen();
    return await this.#reading.add(resumeSessions(this.#resumeHost(), ownCopy(options)));
  }

  async delete(id: string, options: DeletionOptions = {}): Promise<DeletedWithBlobs> {
    const session = parseSessionId(id);
    return deletedSchema.parse(await this.#sessions.give(session, deletion, [options]));
  }

  async deleteSessions(query: DeletionQuery): Promise<DeletedSessions> {
    check(deletionSchema, query, "deleteSessions", { name: "query" });
    const own = ownCopy(query);
    const { forks, cancel, bill } = own;
    return await deleteSessions(this.log, own, (session) =>
      this.delete(session, defined({ forks, cancel, bill })),
    );
  }

  async redact(
    id: string,
    what: readonly RedactionTarget[],
    options: RedactOptions = {},
  ): Promise<Redacted> {
    const session = parseSessionId(id);
    return redactionSchema.parse(await this.#sessions.give(session, redaction, [what, options]));
  }

  async collectBlobs(): Promise<CollectedBlobs> {
    const { store } = this.#blobs;
    this.#liveSessions.assertOpen();
    return store === undefined ? { removed: 0, bytes: 0 } : await collectBlobs(this.log, store);
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    check(name, dir, "backup", { name: "dir" });
    if (this.#store !== undefined) return await this.#store.backup(dir, options);
    throw new TurnlogError(
      "COMMAND_REFUSED",
      "This runtime was given its log and cannot copy it. Copy it where you opened it: logs of `openLog` have `backup`.",
    );
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

  async close(options: CloseOptions = {}): Promise<void> {
    check(closeSchema, options, "close", { name: "options" });
    await (this.#closing ??= this.#close(options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #resumeHost(): ResumeHost {
    const keep = summaryKeeper(this.log, this.#warn);
    return { log: this.log, live: this.#liveSessions, later: this.#later, keep };
  }

  #upkeepHost(): UpkeepHost {
    return {
      log: this.log,
      blobs: this.#blobs.store,
      live: this.#liveSessions,
      bill: this.#bill,
      background: this.#background,
      onWarning: this.#warn,
      give: (...given) => this.#sessions.give(...given),
      clock: this.#options.clock ?? Date.now,
      closing: this.#closed.signal,
    };
  }

  async #close({ leaveTurns }: CloseOptions): Promise<void> {
    for (const one of [this.#later, this.#resumes, this.#background]) one[Symbol.dispose]();
    await this.#unshare();
    this.#lists[Symbol.dispose]();
    this.#inbox?.[Symbol.dispose]();
    this.#closed.abort(closed());
    await this.#liveSessions.close(leaveTurns);
    await this.#inbox?.settled();
    for (const one of [this.#reading, this.#resumes, this.#background]) await one.settled();
    await this.#consumers.close();
    await this.#mcp?.close();
    if (!hasLog(this.#options)) await this.log.close();
  }
}

const noLongerWaits: ReadonlySet<string> = new Set(["APPROVAL_ANSWERED", "COMMAND_REFUSED"]);

type WaitingApproval = Extract<WaitingQuestion, { readonly kind: "approval" }>;

interface WaitingLogin {
  readonly question: WaitingApproval;
  /** Begins with the name of the account. */
  readonly state: string;
}

/** The calls that wait for a login of the account that a callback's query tells of. */
function waitingLogins(
  waiting: readonly WaitingQuestion[],
  query: URLSearchParams,
): readonly WaitingLogin[] {
  const [account] = (query.get("state") ?? "").split(".");
  return waiting.flatMap((question): readonly WaitingLogin[] => {
    const asked = question.kind === "approval" ? question.approval.question : undefined;
    if (question.kind !== "approval" || asked?.kind !== "login-required") return [];
    const state = new URL(asked.url).searchParams.get("state") ?? "";
    return state.split(".")[0] === account ? [{ question, state }] : [];
  });
}

// Opens the store of a runtime: before its sessions, and together with its agents.

/** Prepares the agents while the disk takes the store's lock. An error of an agent is thrown first. */
export async function openPrepared(
  options: Exclude<RuntimeSettings, { readonly log: EventLog }>,
  service: StoreService | undefined,
): Promise<{ readonly agents: AgentRegistry; readonly store: StoreLog }> {
  const [store, agents] = await Promise.allSettled([
    openStore(options, service),
    setImmediate().then(() => agentRegistry(options, options.mcp)),
  ]);
  if (agents.status === "rejected") {
    if (store.status === "fulfilled") await store.value.close();
    throw agents.reason;
  }
  if (store.status === "rejected") throw store.reason;
  return { agents: agents.value, store: store.value };
}

/** Finishes the erasures that earlier processes began, before anything is read. */
export async function encrypted({ encryption }: RuntimeSettings, log: EventLog): Promise<EventLog> {
  if (encryption === undefined) return withPlainEvents(log);
  const encrypting = encryptingLog(log, encryption.keys);
  await encrypting.settled();
  return encrypting;
}

/** Serves a store to other processes while its runtime is open. */
export interface SharedStore {
  /** Takes a connection to the store's socket. */
  readonly accept: (connection: Socket) => void;
  /** Ends all connections. */
  readonly close: () => Promise<void>;
}

export type ShareStore = (runtime: Runtime, store: StoreLog) => SharedStore;
