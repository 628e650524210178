/**
 * The one writer of the store: at most one batch is being written, and everything that arrives
 * meanwhile is the next one. There is no timer: a batch is as large as the disk is slow. Rows and
 * records that were written small are put together with a batch that comes later, and index rows are
 * written for many of them at once.
 */

import type { NewEvent, Appended, TurnlogError } from "../../../events/index.ts";
import {
  Batch,
  type BatchShare,
  type Head,
  type IndexRows,
  ownFrom,
  LooseCommits,
} from "../heads/index.ts";
import {
  ChainMarks,
  withChecksum,
  checksumOf,
  type ChainMark,
  type Database,
  type WriteBatch,
  writeFailure,
  mergedRow,
  type EventRow,
  checkedKey,
  fixedWidth,
  idKey,
  SpareRows,
  type Span,
} from "../rows/index.ts";

/** A batch that is larger than this is not added to. */
const BATCH_SIZE = 1024 * 1024;
/** What commit records are filed under among spare rows: no session has this name. */
const commits = "/";

export interface CommitterOptions {
  readonly sync: boolean;
  /** The end of the chain; all of it is in LevelDB's tables. */
  readonly end: ChainMark;
  /** Where `m/checked` stands. */
  readonly checked: ChainMark;
  /** Which index rows are behind. */
  readonly index: IndexRows;
  /** Called before each write; throws when the store is another owner's by now. */
  readonly assertOwned: () => void;
  /** Called when a batch is written, after those who wait for it were told. */
  readonly onWritten: () => void;
  /** Called when a write failed, before anybody is told: what is in memory may not be in the store. */
  readonly onFailed: () => void;
}

/** A session of which nothing is to be seen yet, and what was written before it. */
interface Staged {
  readonly head: Head;
  readonly before: ChainMark;
  readonly indexed: number;
}

export class Committer {
  readonly #database: Database;
  readonly #options: CommitterOptions;
  #marks: ChainMarks;
  /** The last global position, including what is queued. */
  #position: number;
  #written: ChainMark;
  #indexed: number;
  #filling: Batch | undefined;
  readonly #full: Batch[] = [];
  #writing: Batch | undefined;
  readonly #loose = new LooseCommits();
  readonly #spare = new SpareRows();
  #idle: PromiseWithResolvers<void> | undefined;
  #staged: Staged | undefined;
  #failure: TurnlogError | undefined;

  constructor(database: Database, options: CommitterOptions) {
    this.#database = database;
    this.#options = options;
    this.#position = options.end.position;
    this.#written = options.end;
    this.#indexed = options.end.position;
    this.#marks = new ChainMarks(options.end, options.checked);
  }

  /** Why nothing is written any more. */
  get failure(): TurnlogError | undefined {
    return this.#failure;
  }

  /** The end of what is written and to be seen. */
  get written(): ChainMark {
    return this.#staged?.before ?? this.#written;
  }

  /** The newest mark that is written: index rows count everything up to there. */
  get indexed(): number {
    return this.#indexed;
  }

  /** Queues rows of a session, which follow its head; resolves when they are written. */
  append(head: Head, rows: readonly EventRow[]): Promise<Appended> {
    const batch = this.#open();
    const share = batch.share(head);
    for (const written of rows) {
      const { position, row, events } = written;
      this.#seal(head, head.loose.take(written), batch);
      batch.put(head.prefix + fixedWidth(position), row);
      batch.record.add(share.index, events.length, checksumOf(row));
      head.tail?.push(written);
      for (const event of events) this.#place(event, head, share, batch);
    }
    share.revision = head.revision;
    return batch.promise({ revision: head.revision, position: this.#position, repeated: false });
  }

  /** Puts one row in the place of several, which are written or are about to be. */
  #seal(head: Head, loose: readonly EventRow[], batch: Batch): void {
    const sealed = mergedRow(head.session, loose);
    if (sealed === undefined) return;
    let from = "";
    let bytes = 0;
    for (const { position, row } of loose) {
      const key = head.prefix + fixedWidth(position);
      if (position !== sealed.position) batch.del(key);
      if (from === "") from = key;
      bytes += key.length + row.length;
    }
    const key = head.prefix + fixedWidth(sealed.position);
    batch.put(key, sealed.row);
    this.#spare.note(head.session, { from, to: key }, bytes);
  }

  #place({ time: at, id }: NewEvent, head: Head, share: BatchShare, batch: Batch): void {
    const position = ++head.revision;
    const globalPosition = ++this.#position;
    share.updatedAt = at;
    if (position === ownFrom(head.link)) head.createdAt = at;
    if (id === undefined) return;
    const key = idKey(head.session, id);
    batch.put(key, withChecksum(key, [position, globalPosition]));
    head.ids.set(id, { position, globalPosition, batch });
    (share.ids ??= []).push(id);
  }

  /** Queues changes that are no appends, together; nothing but what was queued before precedes them. */
  async write(change: (rows: Pick<Batch, "put" | "del">) => void): Promise<void> {
    await this.#change(change);
  }

  /** Resolves when everything that is queued is written. */
  async flushed(): Promise<void> {
    await this.#change(() => {});
  }

  /** The same, with all index rows. */
  async caughtUp(): Promise<void> {
    await this.#change((batch) => {
      batch.indexesAll = true;
    });
  }

  async #change(change: (batch: Batch) => void): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const batch = this.#open();
    change(batch);
    await batch.promise({ revision: 0, position: 0, repeated: false });
  }

  /** Resolves when nothing is queued; never rejects. */
  async idle(): Promise<void> {
    if (this.#writing === undefined && this.#filling === undefined) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  /** The batch that takes what arrives now. */
  #open(): Batch {
    const open = this.#filling;
    if (open !== undefined && open.size < BATCH_SIZE) return open;
    if (open !== undefined) this.#full.push(open);
    else if (this.#writing === undefined) queueMicrotask(() => this.#write());
    this.#filling = new Batch(this.#database, this.#position + 1);
    return this.#filling;
  }

  #write(): void {
    const batch = this.#full.shift() ?? this.#filling;
    if (batch === this.#filling) this.#filling = undefined;
    this.#writing = batch;
    if (batch === undefined) {
      this.#idle?.resolve();
      this.#idle = undefined;
      return;
    }
    void this.#commit(batch);
  }

  async #commit(batch: Batch): Promise<void> {
    let end: ChainMark;
    try {
      this.#options.assertOwned();
      end = this.#finish(batch);
      await batch.rows.write({ sync: this.#options.sync });
    } catch (error) {
      this.#failed(batch, error);
      return;
    }
    this.#committed(batch, end);
  }

  /**
   * From now on a session is written of which nobody is to see anything. Nothing is queued now, and
   * nobody else appends before {@link publish} or {@link withdraw}.
   */
  stage(head: Head): void {
    this.#staged = { head, before: this.#written, indexed: this.#indexed };
    // Records that are merged into one must not be of both sides.
    this.#loose.clear();
  }

  /** All of the staged session is written, also that it is there: shows it. */
  publish(): void {
    const head = this.#staged?.head;
    this.#staged = undefined;
    if (head === undefined) return;
    head.committed = head.revision;
    head.tail?.advance(head.revision);
    this.#options.onWritten();
  }

  /** The rows of the staged session are gone again; `checked` is where `m/checked` stands. */
  withdraw(checked: ChainMark): void {
    const staged = this.#staged;
    this.#staged = undefined;
    if (staged === undefined) return;
    this.#written = staged.before;
    this.#position = staged.before.position;
    this.#indexed = staged.indexed;
    this.#marks = new ChainMarks(checked, checked);
    this.#loose.clear();
    const { head } = staged;
    Object.assign(head, {
      revision: 0,
      committed: 0,
      createdAt: 0,
      updatedAt: 0,
      share: undefined,
    });
    head.loose.clear();
    head.tail?.forget();
  }

  /** Those of a batch's sessions that are to be seen. */
  #shown({ shares }: Batch): readonly BatchShare[] {
    const hidden = this.#staged?.head;
    return hidden === undefined ? shares : shares.filter(({ head }) => head !== hidden);
  }

  /** Adds the rows that a batch has once: the commit record, index rows, the mark. */
  #finish(batch: Batch): ChainMark {
    const end = batch.record.count === 0 ? undefined : this.#record(batch);
    const isMark = end !== undefined && this.#marks.isNext(batch.size);
    // What the chain tells from a mark on, it need not tell of what lies before.
    batch.indexesAll ||= isMark || this.#options.index.isDue;
    const shares = this.#shown(batch);
    if (batch.indexesAll) this.#options.index.catchUp(batch, shares);
    else this.#options.index.begin(batch, shares);
    if (end === undefined) return this.#written;
    this.#spare.wrote(batch.size);
    if (isMark) {
      this.#marks.add(end);
      this.#loose.clear();
    } else this.#marks.wrote(batch.size);
    const moved = this.#marks.move();
    if (moved !== undefined) batch.put(checkedKey, withChecksum(checkedKey, moved));
    return end;
  }

  #record(batch: Batch): ChainMark {
    if (this.#loose.isDue) this.#mergeCommits(batch);
    const finished = batch.record.finish(this.#written.seal);
    const { key, row, mark } = finished;
    batch.put(key, row);
    this.#loose.add(batch.record, finished);
    return mark;
  }

  /** Adds what is still to be put in order to a batch that comes after all others are written. */
  settle(batch: Pick<WriteBatch, "put" | "del">): void {
    this.#mergeCommits(batch);
    this.#options.index.catchUp(batch, []);
  }

  /** Puts the commit records so far together with a batch that comes after all of them are written. */
  #mergeCommits(batch: Pick<WriteBatch, "put" | "del">): void {
    const merged = this.#loose.merge();
    const to = merged?.gone.at(-1);
    if (merged === undefined || to === undefined) return;
    batch.put(merged.key, merged.row);
    for (const key of merged.gone) batch.del(key);
    const { key: from, row, gone } = merged;
    this.#spare.note(commits, { from, to }, gone.length * (from.length + row.length));
  }

  /** Where rows have become spare since the store was opened. */
  get spare(): readonly Span[] {
    return this.#spare.spans;
  }

  #committed(batch: Batch, end: ChainMark): void {
    this.#written = end;
    if (end === this.#marks.newest) this.#indexed = end.position;
    const shown = this.#shown(batch);
    for (const share of batch.shares) {
      const { head } = share;
      if (head !== this.#staged?.head) head.committed = share.revision;
      head.updatedAt = share.updatedAt;
      head.batches--;
      if (share.ids !== undefined) for (const id of share.ids) head.ids.delete(id);
    }
    this.#options.index.written(shown, batch.indexesAll);
    this.#write();
    batch.keepPromises();
    for (const { head, revision } of shown) head.tail?.advance(revision);
    this.#options.onWritten();
  }

  /** Nothing may follow a write that failed: it may have left LevelDB's log file torn. */
  #failed(batch: Batch, error: unknown): void {
    const failure = writeFailure(error);
    const behind = this.#filling === undefined ? this.#full : [...this.#full, this.#filling];
    this.#failure = failure;
    this.#filling = undefined;
    this.#writing = undefined;
    this.#position = this.#written.position;
    // What a failed import has left is hidden by its mark, and taken away by the next opening.
    this.#written = this.written;
    this.#options.onFailed();
    for (const lost of [batch, ...behind.splice(0)]) lost.breakPromises(failure);
    this.#full.length = 0;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}
