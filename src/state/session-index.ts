/**
 * Pages of a runtime's sessions: from the log at first, then from an index in memory. The index is built once from
 * stored summaries. New events of this runtime and of other processes update it. A lost index is rebuilt.
 */

import {
  TurnlogError,
  type EventLog,
  type JsonObject,
  type SessionEntry,
} from "../events/index.ts";
import type { SessionSummary } from "../projections/index.ts";
import {
  inOrder,
  isEmpty,
  isListed,
  querySessions,
  timeOf,
  withQuestions,
  type SessionQuery,
  type SessionRow,
} from "./list.ts";
import { listedSession, listSessions, type KeepSummary, type ListedSession } from "./view.ts";

/** What decides on a session's place, and whether a page may have it. */
interface Place {
  readonly session: string;
  readonly time: number;
  readonly createdAt: number;
  readonly status: ListedSession["status"];
  readonly isEmpty: boolean;
  /** The lists that have it: all sessions, and those with the same value of an indexed key. */
  readonly lists: readonly string[];
}

const ALL = "";

class SessionIndex implements Disposable {
  readonly #log: EventLog;
  readonly #keys: readonly string[];
  readonly #keep: KeepSummary | undefined;
  readonly #places = new Map<string, Place>();
  /** Each in the order of pages. */
  readonly #lists = new Map<string, Place[]>();
  /** Sessions whose summary has to be read again. */
  readonly #changed = new Set<string>();
  readonly #following: Disposable | undefined;
  #building: Promise<void> | undefined;
  #isBuilt = false;
  #isOver = false;

  /** @param isLive - Sessions that tell their changes by `recorded`. */
  constructor(
    log: EventLog,
    keys: readonly string[],
    isLive: (session: string) => boolean,
    keep?: KeepSummary,
  ) {
    this.#log = log;
    this.#keep = keep;
    this.#keys = keys;
    this.#following = log.onChange?.((session) => {
      if (!isLive(session) || !this.#places.has(session)) this.#changed.add(session);
    });
  }

  /** Whether pages come from memory. */
  get isBuilt(): boolean {
    return this.#isBuilt;
  }

  /** Reads all summaries. A failure is thrown, and the next call tries again. */
  async build(): Promise<void> {
    this.#building ??= this.#build().finally(() => {
      this.#building = undefined;
    });
    await this.#building;
  }

  /** A live session recorded a structural event. */
  recorded(session: string, summary: SessionSummary, updatedAt: number): void {
    const before = this.#places.get(session);
    if (before === undefined) this.#changed.add(session);
    else this.#put({ ...summary, session, createdAt: before.createdAt, updatedAt });
  }

  /** As `querySessions`. Its cost depends on the rows of the page, not on the number of sessions. */
  async *page({
    where,
    status,
    prefix = "",
    empty = true,
    after,
    limit = Infinity,
  }: SessionQuery): AsyncGenerator<SessionRow, void, void> {
    await this.build();
    await this.#refresh();
    const statuses = status === undefined ? undefined : new Set([status].flat());
    const list = this.#lists.get(this.#listFor(where)) ?? [];
    let last = after && { session: after.session, time: timeOf(after) };
    let left = limit;
    while (left > 0) {
      // By its order and not its index: the list may change while a row is read.
      const place = list[last === undefined ? 0 : firstAfter(list, last)];
      if (place === undefined) return;
      last = place;
      const mayFit =
        (statuses === undefined || statuses.has(place.status)) && (empty || !place.isEmpty);
      if (!mayFit || !place.session.startsWith(prefix)) continue;
      const row = await rowOf(this.#log, place);
      if (row === undefined || !isListed(row, where, statuses, empty)) continue;
      yield await withQuestions(this.#log, row);
      left -= 1;
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#following?.[Symbol.dispose]();
  }

  async #build(): Promise<void> {
    if (this.#isBuilt) return;
    // Sessions that record events in the meantime are noted as changed, since they have no place yet.
    for await (const row of listSessions(this.#log, this.#keep)) {
      if (this.#isOver) return;
      // An attempt that failed may have read it, and what a live session recorded since is newer than the log.
      if (!this.#places.has(row.session)) this.#put(row);
    }
    this.#isBuilt = true;
  }

  async #refresh(): Promise<void> {
    for (const session of this.#changed) {
      this.#changed.delete(session);
      await this.#read(session, await entryOf(this.#log, session));
    }
  }

  async #read(session: string, entry: SessionEntry | undefined): Promise<void> {
    const before = this.#places.get(session);
    const row = entry && (await listedSession(this.#log, entry));
    // Something newer has been recorded in the meantime.
    if (this.#places.get(session) !== before) return;
    if (row === undefined || row.problem?.code === "SESSION_DELETED") this.#remove(before);
    else this.#put(row);
  }

  #put(row: ListedSession | (SessionSummary & Omit<SessionEntry, "revision">)): void {
    const { session, createdAt, status, metadata } = row;
    const before = this.#places.get(session);
    const place = {
      session,
      createdAt,
      status,
      isEmpty: isEmpty(row),
      time: timeOf(row),
      lists: this.#listsOf(metadata),
    };
    if (before !== undefined && isSame(before, place)) return;
    this.#remove(before);
    this.#places.set(session, place);
    for (const name of place.lists) {
      const list = this.#lists.get(name) ?? [];
      this.#lists.set(name, list);
      list.splice(firstAfter(list, place), 0, place);
    }
  }

  #remove(place: Place | undefined): void {
    if (place === undefined) return;
    this.#places.delete(place.session);
    for (const name of place.lists) {
      const list = this.#lists.get(name) ?? [];
      const index: number = firstAfter(list, place) - 1;
      if (list[index] === place) list.splice(index, 1);
      if (list.length === 0 && name !== ALL) this.#lists.delete(name);
    }
  }

  #listsOf(metadata: JsonObject = {}): readonly string[] {
    const named = this.#keys.flatMap((key) =>
      Object.hasOwn(metadata, key) ? [listName(key, metadata)] : [],
    );
    return [ALL, ...named];
  }

  /** The shortest list that has all sessions of a query. */
  #listFor(where: JsonObject = {}): string {
    const named = this.#keys.flatMap((key) => (isPlain(where[key]) ? [listName(key, where)] : []));
    const lengthOf = (name: string): number => this.#lists.get(name)?.length ?? 0;
    return named.toSorted((one, other) => lengthOf(one) - lengthOf(other))[0] ?? ALL;
  }
}

/** Objects that are equal may have different JSON. */
function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function listName(key: string, metadata: JsonObject): string {
  return JSON.stringify([key, metadata[key]]);
}

type Ordered = Pick<Place, "session" | "time">;

/** The index of the first place that comes after another. */
function firstAfter(list: readonly Place[], place: Ordered): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const found = list[middle];
    if (found !== undefined && inOrder(found, place) <= 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

function isSame(one: Place, other: Place): boolean {
  return (
    one.time === other.time &&
    one.status === other.status &&
    one.isEmpty === other.isEmpty &&
    one.lists.length === other.lists.length &&
    one.lists.every((name, index) => name === other.lists[index])
  );
}

/** The row of a session whose beginning is known. Its cost does not depend on other sessions. */
async function rowOf(
  log: EventLog,
  { session, createdAt }: Place,
): Promise<ListedSession | undefined> {
  const revision = await log.revision(session);
  if (revision === 0) return undefined;
  try {
    const [last] = await log.readAt(session, [revision]);
    if (last !== undefined)
      return await listedSession(log, { session, revision, createdAt, updatedAt: last.time });
  } catch {
    // The entry is there although the last event cannot be read; its row names the problem.
  }
  const entry = await entryOf(log, session);
  return entry && (await listedSession(log, entry));
}

/** The entry of one session: the first by the prefix of its own name. */
async function entryOf(log: EventLog, session: string): Promise<SessionEntry | undefined> {
  for await (const entry of log.list({ prefix: session }))
    return entry.session === session ? entry : undefined;
  return undefined;
}

// Pages of a runtime's sessions: from the log at first, and from the index once it is built.

interface SessionListsOptions {
  readonly log: EventLog;
  /** Keys of metadata with lists of their own. */
  readonly indexed: readonly string[] | undefined;
  readonly isLive: (session: string) => boolean;
  readonly keep: KeepSummary;
}

/** Stores summaries after an upgrade, so that no later list folds them again. A cache: a failure is a warning. */
export function summaryKeeper(
  log: EventLog,
  onWarning: (error: TurnlogError) => void,
): KeepSummary {
  return async (session, snapshot) => {
    try {
      await log.saveSnapshot(session, snapshot);
    } catch (cause) {
      const why = `The summary of session ${session} could not be stored. Until it is, lists read all events of the session.`;
      onWarning(new TurnlogError("LOG_FAILED", why, { session, cause }));
    }
  };
}

export class SessionLists implements Disposable {
  readonly #options: SessionListsOptions;
  /** Made by the first page: a runtime that lists nothing keeps nothing. */
  #index: SessionIndex | undefined;

  constructor(options: SessionListsOptions) {
    this.#options = options;
  }

  async *page(query: SessionQuery): AsyncGenerator<SessionRow, void, void> {
    const { log, indexed = [], isLive, keep } = this.#options;
    // A log that does not report its changes, such as one that many processes share, is queried each time.
    if (log.onChange === undefined) return yield* querySessions(log, query);
    this.#index ??= new SessionIndex(log, indexed, isLive, keep);
    const isQuick = query.where === undefined && query.status === undefined;
    if (this.#index.isBuilt || !isQuick) return yield* this.#index.page(query);
    // The first page does not wait for the summaries of all sessions. The next one tells why they failed.
    this.#index.build().catch(() => {});
    yield* querySessions(log, query);
  }

  /** Called after each structural event of a live session. */
  recorded(session: string, summary: SessionSummary, time: number): void {
    this.#index?.recorded(session, summary, time);
  }

  [Symbol.dispose](): void {
    this.#index?.[Symbol.dispose]();
  }
}
