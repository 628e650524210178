/** The options of a runtime, and how its store is opened. */

import type { KeyStore } from "../../store/encryption/index.ts";
import {
  type DefinedEvents,
  type EventLog,
  type JsonObject,
  type RecoveryPolicy,
  TurnlogError,
  isElsewhere,
} from "../../events/index.ts";
import type { BlobOptions, AttachmentOptions } from "../../media/index.ts";
import {
  openMemoryLog,
  openServedLog,
  type StoreLog,
  type StoreService,
} from "../../store/leveldb/index.ts";
import type { Agent, StepSource } from "../../agent/index.ts";
import type { ContextFor } from "../session/running-turn.ts";
import type { McpServers } from "../../mcp/index.ts";
import type { RuntimeMeter } from "../figures/runtime-metrics.ts";
import type { CircuitBreaker } from "../model/failover.ts";
import type { Recording } from "../model/recording.ts";
import type { SpendingLimits } from "../figures/spending-ledger.ts";
import { type Timer, toStoredError } from "../../shared/index.ts";
import type { FlexibleSchema } from "@ai-sdk/provider-utils";

/** The place of the log. */
export type StoreOptions =
  | {
      /** The folder of the store, created if it does not exist. */
      readonly dir: string;
      /**
       * With `sync` (default), recorded events survive a power cut; with `os`, they survive the death of the
       * process.
       */
      readonly durability?: "sync" | "os";
      /** Opens a store that was left open on another machine: see `openLog`. */
      readonly takeOver?: boolean;
      /**
       * Other processes of the same user may use the store through a socket in its folder, as the command line
       * does: the folder's mode (0700) keeps other users out. `false`: they are refused with `LOG_LOCKED`.
       * Default: true, where the file system has sockets.
       */
      readonly share?: boolean;
    }
  | (NoFolder & {
      /** Keeps the sessions in memory, until the runtime is closed. */
      readonly memory: true;
    })
  /** A log of your own; the runtime does not close it. */
  | (NoFolder & { readonly log: EventLog });

interface NoFolder {
  readonly durability?: never;
  readonly takeOver?: never;
  readonly share?: never;
}

/** Encrypts the content of sessions. */
export interface Encryption {
  /** Stores the keys of the sessions: `folderKeys(folder)`, or your own store. */
  readonly keys: KeyStore;
}

/** The session for which an agent is chosen. */
export interface SessionIdentity {
  readonly id: string;
  /** Its metadata, which for a new session are those that it is created with; empty if there are none. */
  readonly metadata: JsonObject;
}

/** Returns the agent of a session. Called each time the session is activated. */
export type AgentFor = (session: SessionIdentity) => Agent | PromiseLike<Agent>;

/** The agent of the sessions: one for all, one by a function, or several by name. */
export type AgentOptions =
  | {
      /**
       * The agent of all sessions, or a function that returns the agent of each. If the function throws, the
       * session is not opened (`CALLBACK_FAILED`).
       */
      readonly agent: Agent | AgentFor;
      readonly agents?: never;
    }
  | {
      /**
       * Agents by name. `runtime.session(id, { agent: name })` chooses one for a new session; the name is
       * recorded, so that every later runtime uses the agent of that name.
       */
      readonly agents: Readonly<Record<string, Agent>>;
      readonly agent?: never;
    };

interface RunOptions {
  /** The events of your own program, from `defineEvents`. Default: none. */
  readonly events?: DefinedEvents;
  /**
   * Stores large and binary content once, outside the log; events refer to it. With `false`, the content stays in
   * the events as base64; blobs that a session already has can still be read.
   */
  readonly blobs?: BlobOptions | false;
  /**
   * MCP servers whose tools every session has besides its agent's own, as `server__tool`. They start with the
   * first message, and close with the runtime.
   */
  readonly mcp?: McpServers;
  /**
   * What happens to a turn that a dead process left unfinished. With `continue`, the turn continues, and `close`
   * leaves running turns to the next process; with `stop`, the turn ends, and `close` cancels running turns.
   * Default `stop`.
   */
  readonly recovery?: RecoveryPolicy;
  /**
   * `all`: continue the unfinished turns of all sessions, and deliver their messages for later, as
   * `resumeAll` does; `onWarning` gets the error of each session that cannot be resumed. Only one process of a
   * store should use it. By default a session is continued when it is opened.
   */
  readonly resume?: "all";
  /**
   * Limits on spending: for each turn, for each session, and for all sessions together that share a value in their
   * metadata.
   * They are checked before each model call against the tokens of its prompt, so one reply may exceed a limit.
   * Default: no limits.
   * @example
   * const limits = { session: { tokens: 2_000_000 }, perKey: { userId: { dollars: 5, per: "day" } } };
   */
  readonly limits?: SpendingLimits;
  /**
   * Keys of the metadata that `runtime.bill` sums by, besides `tenant` and those of `limits.perKey`. Their values stay
   * in the store in plain text, of encrypted and of deleted sessions too, as do the names of senders.
   */
  readonly bill?: { readonly keys: readonly string[] };
  /** How often one turn may continue after its process died, with `continue`. Default 3. */
  readonly maxRecoveries?: number;
  /**
   * Keeps a hash chain over the events of each session, so that `verify` finds changed and missing events even if
   * their checksums were recomputed. Default false.
   */
  readonly hashChain?: boolean;
  /**
   * Keys of metadata that lists filter by: a page of `sessions({ where })` with one of them costs the same in a
   * store of any size. Values are texts, numbers or booleans. Kept in memory, not in the store.
   */
  readonly indexed?: readonly string[];
  /**
   * A schema of zod or another Standard Schema that checks metadata before they are recorded. Metadata that do
   * not fit are refused (`INVALID_INPUT`); metadata that are already stored are not checked.
   */
  readonly metadataSchema?: FlexibleSchema<unknown>;
  /** How the files of messages and the URLs in a prompt are read. */
  readonly attachments?: AttachmentOptions;
  /**
   * Encrypts content, each event with its own key. `session.redact` erases single keys, and `delete` erases all
   * keys of a session. An existing session is encrypted from its next event on. Default: nothing is encrypted,
   * and encrypted content cannot be read (`KEY_MISSING`).
   */
  readonly encryption?: Encryption;
  /** How a model call is made. Default `language-model-call`, which takes less CPU than `stream-text`. */
  readonly stepSource?: StepSource["name"];
  /**
   * Returns the context of a turn whose message has none: after a restart, in a fork, or without `context` in
   * `send`. Its third argument is what was recorded with the message (`about.context` of `send`). If it throws or returns no context, the step fails (`CALLBACK_FAILED`), and the next message calls it
   * again. Default: the recorded context, else the agent's.
   */
  readonly contextFor?: ContextFor;
  /**
   * When steps go past a model that fails again and again, if their agent has a `fallback`. Counted over all sessions
   * of this runtime; `circuits()` shows it. `false`: every turn tries its first model.
   */
  readonly circuitBreaker?: CircuitBreaker | false;
  /** Milliseconds after which an idle session is passivated. Default 60,000. */
  readonly idleAfterMs?: number;
  /** Milliseconds that a tool may run after its abort signal. Default 1,000. */
  readonly graceMs?: number;
  /**
   * Called with errors that lose nothing, such as a snapshot that could not be stored or an MCP server
   * that did not start. Default: a process warning.
   */
  readonly onWarning?: (error: TurnlogError) => void;
  /**
   * A meter of OpenTelemetry (`metrics.getMeter("app")`) for figures of live sessions: events, turns,
   * queued messages, waiting calls, compactions, recoveries and the time to the first token. Default: no
   * figures.
   */
  readonly meter?: RuntimeMeter;
}

/**
 * A runtime's options. `testing` replaces time, chance and ids, for tests and replays only.
 * @example
 * const options: RuntimeOptions = { dir: ".turnlog", agent: { model }, recovery: "continue" };
 * const runtime = await createRuntime(options);
 */
export type RuntimeOptions = StoreOptions &
  AgentOptions &
  RunOptions & { readonly testing?: TestingOptions };

/** Sources of time, chance and ids. A test that sets them runs the same way each time. */
export interface TestingOptions {
  /** Returns epoch milliseconds. Default: `Date.now`. */
  readonly clock?: () => number;
  /** Makes ids of sessions and messages. Default: random UUIDs. */
  readonly newId?: () => string;
  /** Waits for limits, between attempts and for tools. Default: `setTimeout`. */
  readonly timer?: Timer;
  /** Returns a number from 0 to 1, for the jitter of retries. Default: `Math.random`. */
  readonly random?: () => number;
  /** For replays. */
  readonly recording?: Recording;
}

/** Checked options, with those of `testing` among the others. */
export type RuntimeSettings = StoreOptions & AgentOptions & RunOptions & TestingOptions;

type OwnLog = Extract<StoreOptions, { readonly log: EventLog }>;

/** Whether the user passed a log. `undefined` counts as absent. */
export function hasLog<Options extends StoreOptions>(
  options: Options,
): options is Options & OwnLog {
  return "log" in options && options.log !== undefined;
}

/**
 * @param service - Handles the connections of other processes, unless `share: false`. Undefined: nothing handles
 * them.
 */
export async function openStore(
  options: Exclude<StoreOptions, OwnLog>,
  service: StoreService | undefined,
): Promise<StoreLog> {
  if ("dir" in options && options.dir !== undefined) {
    const { dir, durability = "sync", takeOver = false, share = true } = options;
    return await openServedLog({ dir, durability, takeOver }, share ? service : undefined);
  }
  return await openMemoryLog();
}

// Warnings of a runtime: to the user's `onWarning`, else to the process.

export function warningsTo(
  onWarning: ((error: TurnlogError) => void) | undefined,
): (error: TurnlogError) => void {
  return (error) => {
    try {
      if (onWarning !== undefined) return onWarning(error);
    } catch (thrown) {
      // An error of the callback must not fail the operation that it reports on.
      process.emitWarning(`\`onWarning\` threw: ${toStoredError(thrown).message}`);
    }
    process.emitWarning(error);
  };
}

/** @param what - What could not be done, for errors that are not turnlog's own. */
export function asWarning(error: unknown, what: string): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  return new TurnlogError("LOG_FAILED", what, { cause: error });
}

/** Warns about sessions that could not be closed. A session that another process has taken over ends there. */
export function warnOfFailed(
  closings: readonly PromiseSettledResult<unknown>[],
  onWarning: (error: TurnlogError) => void,
): void {
  for (const one of closings)
    if (one.status === "rejected" && !isElsewhere(one.reason))
      onWarning(asWarning(one.reason, "A session could not be closed."));
}
