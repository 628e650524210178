/**
 * The port under `checkedLog`: what a store does, and nothing else. Its methods get checked arguments, and only
 * while the log is open. `docs/engines.md` shows how to write one.
 */

import type {
  Appended,
  AppendOptions,
  BlobStore,
  CursorStore,
  Deleted,
  DeletedSession,
  DeleteOptions,
  EventLog,
  ExpectedRevision,
  FollowOptions,
  ForkEvents,
  ForkPoint,
  GlobalEvent,
  Inbox,
  NewEvent,
  Ownership,
  ReadRange,
  SessionEntry,
  SessionEvent,
  Snapshot,
  TurnlogError,
} from "../../events/index.ts";

/** What an engine knows of a session without reading its events. */
export interface SessionHead {
  /** The last position; 0 if the session does not exist or is deleted. */
  readonly revision: number;
  readonly isDeleted: boolean;
}

/** A store of events. Each method keeps the promise of the method of {@link EventLog} with its name, errors included. */
export interface Engine {
  /** Adds all events or none, behind every earlier append. */
  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended>;
  /** Optional: without it, all events of the parts are gathered in memory and appended at once. */
  appendParts?(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions,
  ): Promise<Appended>;
  /** Creates a session that shares another one's events up to a position. @param link - The fork point that the first event names. */
  fork(session: string, link: ForkPoint, events: ForkEvents): Promise<Appended>;
  /** Removes events, ids and snapshots for good, and keeps the name, the length, `by` and `spent`. */
  delete(session: string, options: DeleteOptions): Promise<Deleted>;
  /** The last position, and whether the session was deleted. */
  head(session: string): Promise<SessionHead>;
  /**
   * Events in order or backwards, of a fork also those that it shares. The range may begin or end outside of the
   * session; `spanOf` gives its positions. Positions are whole numbers.
   */
  read(session: string, range: ReadRange): AsyncIterable<SessionEvent>;
  /** Optional: without it, each position is read as a range. */
  readAt?(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]>;
  /** Stored events of all sessions from one global position to another, both included. */
  readAll(from: number, to: number): AsyncIterable<GlobalEvent>;
  /** The last global position before which every event can be read. */
  end(): number | Promise<number>;
  list(prefix: string): AsyncIterable<SessionEntry>;
  deleted(): AsyncIterable<DeletedSession>;
  /** Called once, when no change runs and all followers have ended. */
  close(): Promise<void>;

  /** Where other processes write to the store too. Without it, this log writes everything. */
  readonly others?: Others | undefined;
  /** Without it, no state of a projection is kept, and opening a session reads all of its events. */
  readonly snapshots?: Snapshots | undefined;
  readonly cursors?: CursorStore | undefined;
  readonly blobs?: BlobStore | undefined;
  readonly ownership?: Ownership | undefined;
  readonly inbox?: Inbox | undefined;
  /** Of a store that is open for reading only: the error of each change. */
  readonly refused?: (() => TurnlogError) | undefined;
  /**
   * Of an engine that shows followers its events from memory. Its `close` is called while changes run, waits for
   * them, and ends the followers. Without it, followers read each event from the store.
   */
  readonly followers?: Followers | undefined;
}

/** How an engine learns what other processes wrote. */
export interface Others {
  /**
   * Calls `changed` when others may have written to these sessions, or to any, as long as somebody follows. A call
   * too many costs a look at the heads of the followed sessions, and one too few leaves followers waiting.
   */
  watch(changed: (sessions?: readonly string[]) => Promise<void>): Disposable;
}

/** Stored states of projections: a cache. Those over all sessions come under an empty name. */
export interface Snapshots {
  save(session: string, snapshot: Snapshot): Promise<void>;
  load(session: string, projection: string): Promise<Snapshot | undefined>;
  /** Optional: by one look-up. */
  loadMany?: NonNullable<EventLog["loadSnapshots"]>;
}

/** Subscriptions to sessions. */
export interface Followers {
  session(
    session: string,
    from: number,
    signal: FollowOptions["signal"],
  ): AsyncIterableIterator<SessionEvent>;
  all(from: number, signal: FollowOptions["signal"]): AsyncIterableIterator<GlobalEvent>;
}
