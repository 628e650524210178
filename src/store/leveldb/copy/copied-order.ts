/**
 * The global order of a copy, and the event ids, which contain it. Commit records are copied as they are until
 * something is missing in one. From there on they are rewritten in the old order, without the lost events.
 */

import type { ForkPoint } from "../../../events/index.ts";
import { firstLink } from "../../event-rows/index.ts";
import {
  type ChainMark,
  chainStart,
  CommitBuilder,
  type CommitRecord,
  readCommit,
  checkedRow,
  positionsSchema,
  checksumOf,
  withChecksum,
} from "../../row-engine/rows/commit-record.ts";
import { placedRows } from "../../row-engine/rows/commit-rows.ts";
import {
  allRows,
  type BatchWriter,
  type RowStore,
  rowAt,
  type Rows,
} from "../../row-engine/rows/row-store.ts";
import { eventKey, idKey, numberOf, under } from "../../row-engine/rows/keys.ts";
import type { SinceMark, IndexEntry } from "../../row-engine/rows/session-rows.ts";

// What is known of one session while its store is copied.

export interface CopiedSession {
  link: ForkPoint | undefined;
  /** How many positions a fork shares with its origin, if the copy keeps nothing of it: the fork did not lose those. */
  shared: number;
  /** The last position that the copy has. */
  kept: number;
  /** Events behind the kept ones; an unreadable row counts as one. */
  after: number;
  /** The last position among those behind: a merged row may stand beside what it replaced. */
  counted: number;
  /** The highest position that any row names. */
  known: number;
  /** The last position whose place in the global order is written; undefined before the first. */
  placed: number | undefined;
  /** Kept events with an id whose rows are not written yet, in order. */
  ids: { readonly position: number; readonly id: string }[];
  createdAt: number;
  updatedAt: number;
  index: IndexEntry | undefined;
}

export function newSession(): CopiedSession {
  return {
    link: undefined,
    shared: 0,
    kept: 0,
    after: 0,
    counted: 0,
    known: 0,
    placed: undefined,
    ids: [],
    createdAt: 0,
    updatedAt: 0,
    index: undefined,
  };
}

export function ownEventCount({ kept, link }: CopiedSession): number {
  return kept - (link?.position ?? 0);
}

const EVENTS_PER_COMMIT = 512;

export interface OrderOptions {
  readonly source: Rows;
  /** Has all kept events. */
  readonly target: RowStore;
  readonly writer: BatchWriter;
  readonly sessions: ReadonlyMap<string, CopiedSession>;
  readonly deleted: ReadonlyMap<string, number>;
  /** Gets all records. */
  readonly since: SinceMark;
  readonly onDisorder: (globalPosition: number) => void;
  /** Called when a record names events that the session does not have. */
  readonly onLost: (session: string, last: number) => void;
}

type Run = CommitRecord["ranges"][number];

export class CopiedOrder {
  readonly #options: OrderOptions;
  readonly #deleted: Set<string>;
  #builder = new CommitBuilder(1);
  /** The indexes of the sessions in the record that is being made. */
  #indexes = new Map<string, number>();
  #isSame = true;
  /** The last global position up to which the order is that of the source. */
  sameUpTo = 0;
  end: ChainMark = chainStart;

  constructor(options: OrderOptions) {
    this.#options = options;
    this.#deleted = new Set(options.deleted.keys());
  }

  async write(): Promise<void> {
    const { source, sessions, since } = this.#options;
    let { position, checksum } = chainStart;
    for await (const [key, row] of allRows(source, under("c/"))) {
      const record = readCommit(numberOf(key), row);
      if (record?.position !== position + 1 || record.previous !== checksum)
        this.#disordered(position + 1);
      if (record === undefined) continue;
      since.add(record);
      position = record.position + record.count - 1;
      ({ checksum } = record);
      const runs = await this.#runsOf(record);
      if (this.#isAsWritten(record, runs)) await this.#copy(key, row, record, runs);
      else for (const run of runs) await this.#add(run);
    }
    // Events that no good record names.
    for (const [session, { kept, placed, link }] of sessions) {
      const done = placed ?? link?.position ?? 0;
      if (kept <= done) continue;
      this.#disordered(position + 1);
      await this.#add({ session, from: done + 1, count: kept - done });
    }
    await this.#finish();
  }

  #disordered(globalPosition: number): void {
    if (this.#isSame) this.#options.onDisorder(globalPosition);
    this.#isSame = false;
  }

  /** What is kept of a record, and events before it that no record names. Deleted sessions keep their places. */
  async #runsOf({ ranges }: CommitRecord): Promise<readonly Run[]> {
    const runs: Run[] = [];
    for (const range of ranges) {
      const { session, from, count } = range;
      const own = this.#options.sessions.get(session);
      const last = from + count - 1;
      if (own === undefined || own.kept < last) {
        if (this.#deleted.has(session)) runs.push(range);
        else {
          this.#isSame = false;
          this.#options.onLost(session, last);
        }
      }
      if (own === undefined) continue;
      const done = own.placed ?? (await this.#firstPlaced(range, own));
      own.placed = Math.max(done, Math.min(last, own.kept));
      if (own.placed > done) runs.push({ session, from: done + 1, count: own.placed - done });
    }
    return runs;
  }

  /** A fork that outlived its parent has copies of the shared events, which no record names. */
  async #firstPlaced({ session, from }: Run, { link, kept }: CopiedSession): Promise<number> {
    const before = link?.position ?? 0;
    if (from <= before + 1 || from > kept) return before;
    const row = await rowAt(this.#options.target, eventKey(session, from));
    const isFork = row !== undefined && firstLink(row, { session, position: from }) !== undefined;
    return isFork ? from - 1 : before;
  }

  #isAsWritten({ position, ranges }: CommitRecord, runs: readonly Run[]): boolean {
    const isWhole =
      runs.length === ranges.length &&
      runs.every(({ session, from, count }, index) => {
        const range = ranges[index];
        return session === range?.session && from === range.from && count === range.count;
      });
    if (!isWhole) this.#disordered(position);
    return isWhole && this.#isSame;
  }

  async #copy(key: string, row: string, record: CommitRecord, runs: readonly Run[]): Promise<void> {
    await this.#options.writer.put(key, row);
    let next = record.position;
    for (const run of runs) {
      await this.#placeIds(run, next);
      next += run.count;
    }
    this.end = { position: next - 1, checksum: record.checksum };
    this.sameUpTo = this.end.position;
    this.#builder = new CommitBuilder(next);
  }

  async #add(run: Run): Promise<void> {
    const { session, from, count } = run;
    await this.#placeIds(run, this.#builder.position + this.#builder.count);
    const index = this.#indexes.get(session) ?? this.#builder.enter(session, from);
    this.#indexes.set(session, index);
    if (this.#deleted.has(session)) this.#builder.add(index, count, "");
    else {
      const rows = await placedRows(
        this.#options.target,
        { position: 0, ranges: [run] },
        new Set(),
      );
      for (const one of rows) this.#builder.add(index, one.to - one.from + 1, checksumOf(one.row));
    }
    if (this.#builder.count >= EVENTS_PER_COMMIT) await this.#finish();
  }

  async #finish(): Promise<void> {
    if (this.#builder.count === 0) return;
    const { key, row, mark } = this.#builder.finish(this.end.checksum);
    await this.#options.writer.put(key, row);
    this.end = mark;
    this.#builder = new CommitBuilder(mark.position + 1);
    this.#indexes = new Map();
  }

  async #placeIds({ session, from, count }: Run, globalPosition: number): Promise<void> {
    const own = this.#options.sessions.get(session);
    const behind = own?.ids.findIndex(({ position }) => position >= from + count) ?? 0;
    const placed = behind === -1 ? own?.ids.splice(0) : own?.ids.splice(0, behind);
    for (const { position, id } of placed ?? []) {
      const key = idKey(session, id);
      const place =
        position < from
          ? await this.#copiedPlace(key, position, globalPosition)
          : globalPosition + position - from;
      await this.#options.writer.put(key, withChecksum(key, [position, place]));
    }
  }

  /** A copied event keeps the global position of its original, which only its row tells. */
  async #copiedPlace(key: string, position: number, otherwise: number): Promise<number> {
    const row = await rowAt(this.#options.source, key);
    const stored = row === undefined ? undefined : checkedRow(key, row, positionsSchema);
    return stored?.[0] === position ? stored[1] : otherwise;
  }
}
