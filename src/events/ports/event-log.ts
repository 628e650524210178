/** The port that every log implements, checked by the contract suite in `turnlog/testing`. */

import type { BlobStore } from "./blob-store.ts";
import type { NewEvent, SessionEvent } from "../catalogue/catalogue.ts";
import type { JsonValue } from "../values/json.ts";
import type { Inbox, Ownership } from "./ownership.ts";
import type { ForkPoint } from "../catalogue/session-events.ts";

/** The expected last position: a number, `none` (the session must not exist), `exists` or `any`. */
export type ExpectedRevision = number | "any" | "none" | "exists";

/** The first own events of a fork, beginning with the one that names the fork point. */
export type ForkEvents = readonly [NewEvent<"session.forked">, ...NewEvent[]];

/** The result of an append. */
export interface Appended {
  /** The position of the last event of this append in the session. */
  readonly revision: number;
  /** The global position of that event, over all sessions of the store. */
  readonly position: number;
  /** True if events with these ids were there already: nothing was written. */
  readonly repeated: boolean;
}

/** A part of a session's events, both ends included. Default: all. */
export interface ReadRange {
  readonly from?: number;
  readonly to?: number;
  /** Newest first. */
  readonly backwards?: boolean;
  readonly limit?: number;
}

/** Where a subscription begins (default 1), and when it ends. */
export interface FollowOptions {
  /** The first position. Default: 1. */
  readonly from?: number;
  /** Ends it when it aborts. */
  readonly signal?: AbortSignal;
}

/**
 * An event with its session and its global position.
 * @example
 * for await (const { session, event, position } of log.subscribeAll()) show(session, event, position);
 */
export interface GlobalEvent {
  readonly position: number;
  readonly session: string;
  readonly event: SessionEvent;
}

/** An entry of the list of sessions; no events are read for it. */
export interface SessionEntry {
  readonly session: string;
  readonly revision: number;
  /** Epoch milliseconds of the first event (of a fork: its first own event) and of the last. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Of a fork: the fork point. Its own events follow that position. */
  readonly forkedFrom?: ForkPoint;
}

/** A stored projection state: a cache that may be thrown away at any time. */
export interface Snapshot {
  readonly projection: string;
  readonly version: number;
  /** The position up to which events are folded in. */
  readonly position: number;
  readonly state: JsonValue;
}

/** Options of {@link EventLog.delete}. */
export interface DeleteOptions {
  /**
   * `refuse` (default) deletes nothing if the session has forks. `copy` gives each fork its own copy of
   * the shared events and then deletes the session.
   */
  readonly forks?: "refuse" | "copy";
  /** The name of the person who deletes it. {@link EventLog.deleted} tells it. */
  readonly by?: string;
  /** What the session had spent. {@link EventLog.deleted} tells it. */
  readonly spent?: JsonValue;
}

/** The result of a deletion. */
export interface Deleted {
  readonly session: string;
  readonly revision: number;
  /** Forks that got their own copy of the shared events. */
  readonly forks: readonly string[];
  /** True if the session had been deleted before: nothing was done. */
  readonly repeated: boolean;
  /** False if a read was in progress: the bytes go when it ends, or when the store is opened again. */
  readonly erased: boolean;
}

/** A deleted session. Only its name and length are kept, who deleted it, and what it had spent. */
export interface DeletedSession {
  readonly session: string;
  readonly revision: number;
  readonly by?: string;
  readonly spent?: JsonValue;
}

/** Options of {@link EventLog.append}. */
export interface AppendOptions {
  /**
   * Any object that identifies the writer. After a refused append, all later appends of this writer to
   * that session are refused too: a writer that does not wait for each append would otherwise leave a
   * gap in its events.
   */
  readonly writer?: object;
  /**
   * The source of the events. Default: a program, and every event is checked. `recorded`: a session's
   * recorder, which has checked them; the log does not check them again. `copied`: another log or a
   * file; events of unknown types and the content of earlier releases pass.
   */
  readonly origin?: "recorded" | "copied";
  /**
   * Of the claim under which the writer runs the session. If another process has taken the session since, the
   * append is refused with `SESSION_ELSEWHERE`. Only for logs whose `ownership` gives claims with an epoch.
   */
  readonly epoch?: number;
}

/** The positions that consumers have reached, by their names. Stored with the durability of the events. */
export interface CursorStore {
  /** The stored global position; undefined if the name has none. @throws TurnlogError `LOG_DAMAGED`, `LOG_CLOSED` */
  load(name: string): Promise<number | undefined>;
  /** @throws TurnlogError `INVALID_INPUT`, `LOG_READ_ONLY`, `LOG_FAILED`, `LOG_CLOSED` */
  save(name: string, position: number): Promise<void>;
}

/**
 * An append-only stream of events for each session. `openLog` and `openMemoryLog` implement it;
 * `eventLogContract` of `turnlog/testing` checks an implementation.
 * @example
 * async function turns(log: EventLog, session: string): Promise<number> {
 *   const events = await Array.fromAsync(log.read(session));
 *   return events.filter(({ type }) => type === "turn.ended").length;
 * }
 */
export interface EventLog extends AsyncDisposable {
  /**
   * Appends events to one session: all or none, in order, after all earlier appends. Calls need not wait
   * for each other. Resolves when the events are as durable as the store promises; then subscribers get them.
   * If the session has all events with these ids, nothing is written; if it has only some, it is refused.
   * If a write fails, the appends queued after it fail too. An implementation may refuse all further
   * appends until its store is opened again; reading still works.
   * @throws TurnlogError `REVISION_CONFLICT`, `EVENT_ID_CONFLICT`, `SESSION_DELETED`, `EVENT_INVALID` (the
   * log could not read the event again, or no prompt can contain it), `INVALID_INPUT` (session id, no
   * events), `SESSION_ELSEWHERE` (`epoch`), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_DAMAGED`, `LOG_FAILED`, `LOG_CLOSED`
   */
  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended>;

  /**
   * Creates a session from events that come in parts: all or nothing. No reader sees any event before
   * the last one is written. If the process dies before, nothing of it counts.
   * Optional: {@link appendParts} appends all events at once to a log without it.
   * @throws TurnlogError `REVISION_CONFLICT` (the session exists), the errors of reading the parts, and as
   * `append`
   */
  appendParts?(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options?: AppendOptions,
  ): Promise<Appended>;

  /**
   * Creates a session that shares another session's events up to a position, by reference. The first own
   * event is `session.forked`, which names the source (possibly a fork) and that position. All is written
   * or nothing; the same events again (by their ids) write nothing.
   * Reading, subscriptions, revisions, event ids and snapshots treat shared events as the fork's own;
   * `readAll` yields its own events only. Later events of the source are not part of the fork.
   * If a shared event is damaged, the error names the fork; `details.owner` is the session that stores it.
   * @throws TurnlogError `SESSION_NOT_FOUND` (no such source), `INVALID_INPUT` (the source does not have
   * the position), `REVISION_CONFLICT` (the session exists), and as `append`
   */
  fork(session: string, events: ForkEvents): Promise<Appended>;

  /**
   * Events of a session in order, checked for checksum and gaps, up to the last one when reading began.
   * An unknown session has no events.
   * @throws TurnlogError `LOG_DAMAGED`, `EVENT_INVALID`, `EVENT_TOO_NEW`, each with the position;
   * `LOG_FAILED`, `LOG_CLOSED`, `INVALID_INPUT`
   */
  read(session: string, range?: ReadRange): AsyncIterable<SessionEvent>;

  /**
   * Single events of a session, in the order of the given positions; those not written yet are left out.
   * Much faster than as many reads. @throws TurnlogError as `read`
   */
  readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]>;

  /**
   * Events of a session from a position (default 1): stored ones, then live ones, without a gap.
   * Ends when the signal aborts or the log closes.
   */
  subscribe(session: string, options?: FollowOptions): AsyncIterable<SessionEvent>;

  /** Stored events of all sessions in global order, from a global position (default 1). Of a fork: its own only. */
  readAll(options?: { readonly from?: number }): AsyncIterable<GlobalEvent>;

  /**
   * As {@link EventLog.readAll}, then live events. Leaves out events that are deleted before they are read.
   * Ends when the signal aborts or the log closes.
   */
  subscribeAll(options?: FollowOptions): AsyncIterable<GlobalEvent>;

  /** The last position of a session; 0 if it does not exist. */
  revision(session: string): Promise<number>;

  /** All sessions by name, without reading their events. Names with other characters than letters, digits and `. _ : @ -` come in an order of the store. */
  list(options?: { readonly prefix?: string }): AsyncIterable<SessionEntry>;

  /**
   * Optional. Calls `listener` with the name of each session that was appended to, forked or deleted, once
   * that is written and before the call resolves. Disposing what it returns ends that.
   */
  onChange?(listener: (session: string) => void): Disposable;

  /**
   * With an empty name instead of a session's, the snapshot is one over all sessions at a global position. One of
   * these with an earlier position never replaces one with a later.
   */
  saveSnapshot(session: string, snapshot: Snapshot): Promise<void>;
  /** The stored snapshot of a projection, if it can be read. A fork may get its source's. */
  loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined>;
  /**
   * Optional. The snapshots of a projection that are stored under the names of several sessions, in their order,
   * by one look-up. A snapshot may be newer than what the caller knows of its session.
   */
  loadSnapshots?(
    sessions: readonly string[],
    projection: string,
  ): Promise<readonly (Snapshot | undefined)[]>;

  /** Which process runs a session. Optional: without it, one process owns the whole store. */
  readonly ownership?: Ownership | undefined;

  /** Carries commands to the process that runs a session. Optional: without it, no command leaves its process. */
  readonly inbox?: Inbox | undefined;

  /** Large content beside the events. Optional: without it, and without `blobs` of the runtime, it stays in the events. */
  readonly blobs?: BlobStore | undefined;

  /** The positions of consumers. Optional: without it, `Runtime.consume` is refused. */
  readonly cursors?: CursorStore | undefined;

  /**
   * Deletes a session permanently: events, snapshots, ids and list entry, all or nothing, including earlier
   * appends that still wait. Its name is never used again: `append`, `fork` and `subscribe` refuse it,
   * subscriptions end with that error, and reading finds nothing. Events of other sessions keep their global
   * positions. Deleting the session again does nothing.
   * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_HAS_FORKS` (`details.forks` names the forks that
   * share its events), and as `append`
   */
  delete(session: string, options?: DeleteOptions): Promise<Deleted>;

  deleted(): AsyncIterable<DeletedSession>;

  /** Waits for all appends, then releases the store. Later calls throw `LOG_CLOSED`. */
  close(): Promise<void>;
}

/** A log without `appendParts` gets all events at once, from memory. */
export async function appendParts(
  log: EventLog,
  session: string,
  parts: AsyncIterable<readonly NewEvent[]>,
  options?: AppendOptions,
): Promise<Appended> {
  if (log.appendParts !== undefined) return await log.appendParts(session, parts, options);
  const events: NewEvent[] = [];
  for await (const part of parts) for (const event of part) events.push(event);
  return await log.append(session, "none", events, options);
}
