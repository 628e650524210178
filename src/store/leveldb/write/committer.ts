/**
 * The single writer of the store. While one batch is being written, everything that arrives becomes the next one.
 * No timer: a slower disk makes larger batches. Later batches merge the small rows of earlier ones.
 */

import { mergedRow, type EventRow } from "../../event-rows/index.ts";
import type { NewEvent, Appended, TurnlogError } from "../../../events/index.ts";
import { Batch } from "../heads/batch.ts";
import type { BatchShare, Head } from "../heads/head.ts";
import { ownFrom } from "../heads/lineage.ts";
import { withChecksum, checksumOf, type ChainMark } from "../rows/commit-record.ts";
import type { Database, WriteBatch } from "../rows/database.ts";
import { writeFailure } from "../rows/failures.ts";
import { fixedWidth, idKey } from "../rows/keys.ts";
import type { Span } from "../rows/staged-row.ts";
import { ChainWriter, type ChainWriterOptions } from "./chain-writer.ts";

/** A batch that is larger takes no more events. */
const BATCH_SIZE = 1024 * 1024;

export interface CommitterOptions extends ChainWriterOptions {
  readonly sync: boolean;
  /** Called before each write; throws when another process owns the store, or its folder is gone. */
  readonly assertOwned: () => void;
  /** Called with the end of the visible log after each write, before its appends resolve. */
  readonly onSynced?: ((position: number) => void) | undefined;
  /** Called after each written batch, once its appends have resolved. */
  readonly onWritten: () => void;
  /** Called after a failed write, before its appends reject. Memory may differ from the store. */
  readonly onFailed: () => void;
}

interface Staged {
  readonly head: Head;
  readonly before: ChainMark;
  readonly indexed: number;
}

export class Committer {
  readonly #database: Database;
  readonly #options: CommitterOptions;
  readonly #chain: ChainWriter;
  /** The last global position, including queued events. */
  #position: number;
  #written: ChainMark;
  #indexed: number;
  #filling: Batch | undefined;
  readonly #full: Batch[] = [];
  #writing: Batch | undefined;
  #idle: PromiseWithResolvers<void> | undefined;
  #staged: Staged | undefined;
  #failure: TurnlogError | undefined;
  /** Why the end of the log could not be told to {@link CommitterOptions.onSynced}. */
  #untold: TurnlogError | undefined;

  constructor(database: Database, options: CommitterOptions) {
    this.#database = database;
    this.#options = options;
    this.#position = options.end.position;
    this.#written = options.end;
    this.#indexed = options.end.position;
    this.#chain = new ChainWriter(options);
  }

  get failure(): TurnlogError | undefined {
    return this.#failure;
  }

  /** The end of what is written and visible. */
  get written(): ChainMark {
    return this.#staged?.before ?? this.#written;
  }

  /** The newest written mark: index rows count everything up to this global position. */
  get indexed(): number {
    return this.#indexed;
  }

  append(head: Head, rows: readonly EventRow[]): Promise<Appended> {
    const batch = this.#open();
    const share = batch.share(head);
    for (const written of rows) {
      const { position, row, events } = written;
      this.#mergeRows(head, head.loose.take(written), batch);
      batch.put(head.prefix + fixedWidth(position), row);
      batch.record.add(share.index, events.length, checksumOf(row));
      head.tail?.push(written);
      for (const event of events) this.#addEvent(event, head, share, batch);
    }
    share.revision = head.revision;
    return batch.promise({ revision: head.revision, position: this.#position, repeated: false });
  }

  /** Replaces several rows of a block, written or queued, by one merged row. */
  #mergeRows(head: Head, loose: readonly EventRow[], batch: Batch): void {
    const merged = mergedRow(head.session, loose);
    if (merged === undefined) return;
    let from = "";
    let bytes = 0;
    for (const { position, row } of loose) {
      const key = head.prefix + fixedWidth(position);
      if (position !== merged.position) batch.del(key);
      if (from === "") from = key;
      bytes += key.length + row.length;
    }
    const key = head.prefix + fixedWidth(merged.position);
    batch.put(key, merged.row);
    this.#chain.spare.note(head.session, { from, to: key }, bytes);
  }

  #addEvent({ time, id }: NewEvent, head: Head, share: BatchShare, batch: Batch): void {
    const position = ++head.revision;
    const globalPosition = ++this.#position;
    share.updatedAt = time;
    if (position === ownFrom(head.link)) head.createdAt = time;
    if (id === undefined) return;
    const key = idKey(head.session, id);
    batch.put(key, withChecksum(key, [position, globalPosition]));
    head.ids.set(id, { position, globalPosition, batch });
    (share.ids ??= []).push(id);
  }

  /** Queues changes other than appends as one unit, after everything that is queued already. */
  async write(change: (rows: Pick<Batch, "put" | "del">) => void): Promise<void> {
    await this.#change(change);
  }

  async flushed(): Promise<void> {
    await this.#change(() => {});
  }

  /** Resolves when everything that is queued is written, with all index rows. */
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

  async idle(): Promise<void> {
    if (this.#writing === undefined && this.#filling === undefined) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

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
      if (this.#untold !== undefined) throw this.#untold;
      this.#options.assertOwned();
      end = this.#chain.finish(batch, this.#shown(batch), this.#written);
      await batch.rows.write({ sync: this.#options.sync });
    } catch (error) {
      this.#failed(batch, error);
      return;
    }
    this.#tellSynced(this.#staged?.before.position ?? end.position);
    this.#committed(batch, end);
  }

  /** What was written is kept in any case; where this fails, nothing follows. */
  #tellSynced(position: number): void {
    try {
      this.#options.onSynced?.(position);
    } catch (error) {
      this.#untold = writeFailure(error);
    }
  }

  /**
   * Hides a session until {@link publish} or {@link withdraw}. The queue is empty; no other session is
   * appended to.
   */
  stage(head: Head): void {
    this.#staged = { head, before: this.#written, indexed: this.#indexed };
    // One merged record must not span the hidden events and those before them.
    this.#chain.keepRecords();
  }

  /** Shows the staged session, which is completely written. */
  publish(): void {
    const head = this.#staged?.head;
    this.#staged = undefined;
    if (head === undefined) return;
    this.#tellSynced(this.#written.position);
    head.committed = head.revision;
    head.tail?.advance(head.revision);
    this.#options.onWritten();
  }

  /** Forgets the staged session, whose rows are deleted again. `checked` is the stored mark `m/checked`. */
  withdraw(checked: ChainMark): void {
    const staged = this.#staged;
    this.#staged = undefined;
    if (staged === undefined) return;
    this.#written = staged.before;
    this.#position = staged.before.position;
    this.#indexed = staged.indexed;
    this.#chain.restart(checked);
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

  #shown({ shares }: Batch): readonly BatchShare[] {
    const hidden = this.#staged?.head;
    return hidden === undefined ? shares : shares.filter(({ head }) => head !== hidden);
  }

  /** Adds merged commit records and late index rows to a batch that follows all others. */
  settle(batch: Pick<WriteBatch, "put" | "del">): void {
    this.#chain.settle(batch);
  }

  get spare(): readonly Span[] {
    return this.#chain.spare.spans;
  }

  #committed(batch: Batch, end: ChainMark): void {
    this.#written = end;
    if (end === this.#chain.newestMark) this.#indexed = end.position;
    const shown = this.#shown(batch);
    for (const share of batch.shares) {
      const { head } = share;
      if (head !== this.#staged?.head) head.committed = share.revision;
      head.updatedAt = share.updatedAt;
      head.batches--;
      // The head stays, and the rows of the batch must not stay with it.
      if (head.share === share) head.share = undefined;
      if (share.ids !== undefined) for (const id of share.ids) head.ids.delete(id);
    }
    this.#options.index.written(shown, batch.indexesAll);
    this.#write();
    batch.keepPromises();
    for (const { head, revision } of shown) head.tail?.advance(revision);
    this.#options.onWritten();
  }

  /** Nothing may follow a failed write: LevelDB's log file may end in half a record. */
  #failed(batch: Batch, error: unknown): void {
    const failure = writeFailure(error);
    const behind = this.#filling === undefined ? this.#full : [...this.#full, this.#filling];
    this.#failure = failure;
    this.#filling = undefined;
    this.#writing = undefined;
    this.#position = this.#written.position;
    // The staged mark hides what a failed import wrote; the next opening deletes it.
    this.#written = this.written;
    this.#options.onFailed();
    for (const lost of [batch, ...behind.splice(0)]) lost.breakPromises(failure);
    this.#full.length = 0;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}
