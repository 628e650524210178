/**
 * The port that every log implements, and the contract suite in `turnlog/testing` checks.
 * Callers: the runtime (append, read, snapshots) and the command line (read, list).
 */

import type { NewEvent, SessionEvent } from "./catalogue.ts";
import type { JsonValue } from "./json.ts";
import type { ForkPoint } from "./session-events.ts";

/**
 * What the writer believes about the session's last position: a number, `none` (the session must
 * not exist), `exists` (it must) or `any`.
 */
export type ExpectedRevision = number | "any" | "none" | "exists";

/** The first events of a fork's own: the first of them says where it branches off. */
export type ForkEvents = readonly [NewEvent<"session.forked">, ...NewEvent[]];

/** Where an append ended up. */
export interface Appended {
  /** The position of the last event of this append in the session. */
  readonly revision: number;
  /** The global position of the last event of this append, over all sessions of the store. */
  readonly position: number;
  /** True when the events had been appended before (by their ids) and nothing was written. */
  readonly repeated: boolean;
}

/** A part of a session's events. Both ends are included; without them it is the whole. */
export interface ReadRange {
  readonly from?: number;
  readonly to?: number;
  /** Newest first. */
  readonly backwards?: boolean;
  readonly limit?: number;
}

/** An event with its session and its place in the order over all sessions. */
export interface GlobalEvent {
  readonly position: number;
  readonly session: string;
  readonly event: SessionEvent;
}

/** What the list of sessions knows without reading events. */
export interface SessionEntry {
  readonly session: string;
  /** The last position. */
  readonly revision: number;
  /** Epoch milliseconds of the first event, of a fork the first of its own, and of the last. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Of a fork, where it branches off: its own events begin behind that position. */
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

/** What becomes of the forks of a session that is deleted. */
export interface DeleteOptions {
  /**
   * `refuse` (default) deletes nothing when there are any; `copy` gives each of them the events that
   * it shares, as its own, and then deletes the session.
   */
  readonly forks?: "refuse" | "copy";
}

/** What was deleted. */
export interface Deleted {
  readonly session: string;
  /** The last position that it had. */
  readonly revision: number;
  /** Forks that have their own copy of the events now. */
  readonly forks: readonly string[];
  /** True when the session had been deleted before and nothing was done. */
  readonly repeated: boolean;
  /**
   * Whether its bytes are gone from the log's files already. False when somebody was in the middle of
   * reading the log: then they go when that ends, or when the store is opened again.
   */
  readonly erased: boolean;
}

/** A session that was deleted: its name, and nothing of what it held. */
export interface DeletedSession {
  readonly session: string;
  /** The last position that it had. */
  readonly revision: number;
}

/** By whom events are appended. */
export interface AppendOptions {
  /**
   * Any object that stands for who appends. When an append of a writer is refused, so is everything of
   * it in that session that comes later, whatever it expects: one that hands over appends without
   * waiting for each other would else have a gap in what it said, where somebody else wrote meanwhile.
   */
  readonly writer?: object;
  /**
   * Where the events come from, if not from a program. `recorded`: from a session's recorder, which has
   * checked each of them: the log does not check them again. `copied`: from another log or a file; they
   * may be of types that this release does not know, or say what an earlier release let them say.
   */
  readonly origin?: "recorded" | "copied";
}

/**
 * The port of the log: one stream of events for each session, appended to and never changed. `openLog` and
 * `openMemoryLog` implement it; `eventLogContract` of `turnlog/testing` says whether another one does.
 */
export interface EventLog extends AsyncDisposable {
  /**
   * Appends events to one session: all of them or none, in order, after everything appended to it
   * before. Calls need not wait for each other. Resolves when the events are as durable as the
   * store was opened for, and only then are subscribers told.
   * Events with an `id` that the session has already are not written again; when only some of
   * them are there, the append is refused.
   * A write that fails, fails everything queued behind it too; an implementation may then refuse
   * all further appends with the same code until its store is opened again. Reading goes on.
   * Events are checked as `assertAppendable` does it, unless `origin` says that they were.
   * @throws TurnlogError `REVISION_CONFLICT`, `EVENT_ID_CONFLICT`, `SESSION_DELETED`, `EVENT_INVALID` (an event
   * that could not be read again, or that no prompt can contain), `INVALID_INPUT` (session id, no events), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_DAMAGED`,
   * `LOG_FAILED`, `LOG_CLOSED`
   */
  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended>;

  /**
   * Makes a new session of events that come in parts, however many: all of them or nothing. Before the last
   * one is written nobody sees any of it, and of what a process that dies has written nothing is left
   * once the store is opened again. Other appends wait behind it, so no part may wait for one.
   * A log without it is given all events in one append.
   * @throws TurnlogError `REVISION_CONFLICT` (there is a session of this name), what reading the parts
   * throws, and as `append`
   */
  appendParts?(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options?: AppendOptions,
  ): Promise<Appended>;

  /**
   * Makes a new session whose events up to a position are those of another one, by reference: what
   * is written is its own events alone, however long the other is. The first of them is
   * `session.forked`; it says which session and which position, and stands behind it.
   * From then on the fork is a session like any other: reading, subscriptions, revisions, event ids
   * and snapshots count what it shares as its own. What is appended to the other one later is not
   * in it. `readAll` has its own events only: those that it shares have their places already.
   * The events up to the position must have been appended before. The other may be a fork itself,
   * of any depth. Link and events are written together or not at all; appending the same events
   * (by their ids) again writes nothing.
   * Where an event that it shares is damaged, reading the fork says so with the fork's name, and
   * `details.owner` is the session under whose name the event is stored.
   * @throws TurnlogError `SESSION_NOT_FOUND` (there is nothing to fork), `INVALID_INPUT` (a position
   * that there is not), `REVISION_CONFLICT` (there is a session of this name), and as `append`
   */
  fork(session: string, events: ForkEvents): Promise<Appended>;

  /**
   * Events of a session in order, checked for checksum and gaps: those that were written when
   * reading began. An unknown session has none.
   * @throws TurnlogError `LOG_DAMAGED`, `EVENT_INVALID`, `EVENT_TOO_NEW`, each with the position;
   * `LOG_FAILED`, `LOG_CLOSED`, `INVALID_INPUT`
   */
  read(session: string, range?: ReadRange): AsyncIterable<SessionEvent>;

  /**
   * Single events of a session, checked as by {@link EventLog.read}, in the order in which their
   * positions are given. What was not written when reading began is left out. For many of them
   * that lie apart: one call takes a fraction of the time of as many reads.
   * @throws TurnlogError as `read`
   */
  readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]>;

  /** Events of a session from a position (default 1) on: the past, then live, without a gap. Ends when the signal aborts or the log closes. */
  subscribe(
    session: string,
    options?: { readonly from?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<SessionEvent>;

  /** Events of all sessions in global order, from a global position (default 1) on, up to now. Of a fork, only its own. */
  readAll(options?: { readonly from?: number }): AsyncIterable<GlobalEvent>;

  /**
   * Events of all sessions in global order, from a global position (default 1) on: those that are
   * there, then live. What is deleted before it is read is left out. Ends when the signal aborts or
   * the log closes.
   */
  subscribeAll(options?: {
    readonly from?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<GlobalEvent>;

  /** The last position of a session; 0 when there is none. */
  revision(session: string): Promise<number>;

  /** All sessions by name, without reading their events. */
  list(options?: { readonly prefix?: string }): AsyncIterable<SessionEntry>;

  saveSnapshot(session: string, snapshot: Snapshot): Promise<void>;
  /**
   * The stored snapshot of a projection, or undefined when there is none that can be read. A fork
   * that has none of its own may be given one of a session that it shares its position with.
   */
  loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined>;

  /**
   * Deletes a session for good: events, snapshots, ids and its place in the list, all of it or
   * nothing. What was appended to it before goes with it. Its name is never used again: `append`,
   * `fork` and `subscribe` refuse it, subscriptions end with that error, and reading finds nothing.
   * The events of others keep their global positions; `readAll` leaves those of the session out.
   * Deleting it again does nothing.
   * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_HAS_FORKS` (`details.forks` names those whose
   * events it holds), and as `append`
   */
  delete(session: string, options?: DeleteOptions): Promise<Deleted>;

  /** Sessions that were deleted, by name. */
  deleted(): AsyncIterable<DeletedSession>;

  /** Waits for what was appended, then lets go of the store. Later calls throw `LOG_CLOSED`. */
  close(): Promise<void>;
}

/** A log that cannot take parts is given all events at once, which are all in memory then. */
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
