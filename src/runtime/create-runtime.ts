/** The runtime: opens a store and hands out sessions. It never records an event; see `live-sessions.ts`. */

import { randomUUID } from "node:crypto";
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
} from "../events/index.ts";
import type { Backup, BackupOptions, StoreLog } from "../store/leveldb/index.ts";
import type { LiveSession } from "./live-session.ts";
import { LiveSessions } from "./live-sessions.ts";
import {
  openBlobs,
  type OpenedBlobs,
  collectBlobs,
  deleteSession,
  type DeletedWithBlobs,
} from "../media/index.ts";
import { agentRegistry, type AgentRegistry } from "./agent-registry.ts";
import { encrypted, openPrepared } from "./opened-store.ts";
import { forkLive, type ForkHost } from "./live-fork.ts";
import { assertOpenedAs, configureLive } from "./live-configure.ts";
import { openMcpServers, type OpenMcpServers } from "../mcp/index.ts";
import { redactLive } from "./live-redaction.ts";
import {
  waitsForAnswer,
  checkPosition,
  listSessions,
  querySessions,
  type ListedSession,
  type SessionQuery,
} from "../state/index.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "../archive/index.ts";
import type { OpenSessionOptions, Runtime } from "./runtime.ts";
import { check, name } from "../validation/index.ts";
import { checkedOptions } from "./runtime-schema.ts";
import {
  checkedSession,
  deleteSchema,
  openSessionSchema,
  redactedSchema,
  sessionQuerySchema,
  redactSchema,
} from "./session-validation.ts";
import { toStoredError } from "../shared/index.ts";
import { hasLog, type RuntimeOptions, type RuntimeSettings } from "./runtime-options.ts";
import type { Session } from "./session.ts";
import { sessionHandle } from "./session-handle.ts";
import {
  trimLog,
  trimLogSchema,
  type TrimmedLog,
  type TrimLogOptions,
} from "../archive/trim/index.ts";

/**
 * Opens a store and runs sessions of an agent on it.
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
): Promise<Runtime<Events>> {
  const options = checkedOptions(given);
  // Before a store is created.
  if ("dir" in options && options.dir !== undefined && options.encryption !== undefined)
    assertKeysOutside(options.encryption.keys, options.dir);
  if (hasLog(options)) {
    const agents = await agentRegistry(options, options.mcp);
    return new OpenRuntime(options, agents, await encrypted(options, options.log));
  }
  const { agents, store } = await openPrepared(options);
  try {
    return new OpenRuntime(options, agents, await encrypted(options, store), store);
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
  #closing: Promise<void> | undefined;

  constructor(options: RuntimeSettings, agents: AgentRegistry, log: EventLog, store?: StoreLog) {
    const onWarning = this.#warn;
    this.#store = store;
    this.#options = options;
    this.#agents = agents;
    this.#blobs = openBlobs(options, log);
    const { toolNames: taken } = agents;
    this.#mcp = openMcpServers(options.mcp, { clock: Date.now, ...options, onWarning, taken });
    this.#liveSessions = new LiveSessions({
      options,
      log,
      agents: this.#agents,
      blobs: this.#blobs,
      mcp: this.#mcp,
      onWarning,
    });
    this.log = log;
  }

  async session(id: string = this.#newId(), options: OpenSessionOptions = {}): Promise<Session> {
    const session = parseSessionId(id);
    check(openSessionSchema, options, "session", { name: "options", session });
    const { createIfMissing = true, ...opening } = ownCopy(options);
    if (opening.agent !== undefined) this.#agents.named(opening.agent, "session", session);
    const liveSessions = this.#liveSessions;
    if (!createIfMissing) {
      liveSessions.assertOpen(session);
      await checkPosition(this.log, session);
    }
    assertOpenedAs(await liveSessions.activate(session, opening), opening);
    const opened = sessionHandle(session, {
      log: this.log,
      newId: () => this.#newId(),
      attachments: this.#options.attachments ?? {},
      live: liveSessions,
      events: this.#options.events,
      onWarning: this.#warn,
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

  get blobs(): OpenedBlobs["store"] {
    return this.#blobs.store;
  }

  sessions(query?: SessionQuery): AsyncIterable<ListedSession> {
    if (query === undefined) return listSessions(this.log);
    check(sessionQuerySchema, query, "sessions", { name: "query" });
    return querySessions(this.log, ownCopy(query));
  }

  async delete(id: string, options: DeleteOptions = {}): Promise<DeletedWithBlobs> {
    const session = parseSessionId(id);
    check(deleteSchema, options, "delete", { name: "options", session });
    const refusal = ({ actor }: LiveSession): TurnlogError | undefined =>
      actor.isIdle ? undefined : inTurn(session, actor.state.position);
    return await this.#liveSessions.whilePassive(session, refusal, async () => {
      if (await waitsForAnswer(this.log, session)) throw inTurn(session);
      this.#liveSessions.held.forget(session);
      return await deleteSession(this.log, this.#blobs.store, session, options, this.#warn);
    });
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
    const store = this.#store;
    if (store === undefined) {
      throw new TurnlogError(
        "COMMAND_REFUSED",
        `This runtime was given its log, and nothing of session ${session} was dropped. Call \`trimLog\` with the log, where you opened it, when nobody runs the session.`,
        { session },
      );
    }
    return await this.#liveSessions.whilePassive(session, inUse, () =>
      trimLog(store, session, options),
    );
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
    await this.#liveSessions.close();
    await this.#mcp?.close();
    if (!hasLog(this.#options)) await this.log.close();
  }
}

function inTurn(session: string, position?: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in a turn and was not deleted. Cancel it first (\`session.cancel()\`), or wait until it has ended.`,
    { session, ...(position === undefined ? {} : { position }) },
  );
}

/** A session with watchers is in use too: they would see rows change. */
function inUse({ actor, watchers }: LiveSession): TurnlogError | undefined {
  if (actor.isIdle && watchers.size === 0) return undefined;
  const { session, state } = actor;
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in use, and nothing of it was dropped. Wait until it is idle, or cancel its turn (\`session.cancel()\`).`,
    { session, position: state.position },
  );
}
