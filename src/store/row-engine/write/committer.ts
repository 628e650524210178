/**
 * The single writer of the store. While one batch is being written, everything that arrives becomes the next one.
 * No timer: a slower disk makes larger batches. Later batches merge the small rows of earlier ones.
 */

import { mergedRow, type EventRow } from "../../event-rows/index.ts";
import type { NewEvent, Appended, TurnlogError } from "../../../events/index.ts";
import { Batch } from "../heads/batch.ts";
import { idConflict, nothingToAppend } from "../../log-rules/append-rules.ts";
import type { BatchShare, Head } from "../heads/heads.ts";
import { ownFrom } from "../heads/lineage.ts";
import {
  chainStart,
  checkedMarkRow,
  withChecksum,
  checksumOf,
  type ChainMark,
} from "../rows/commit-record.ts";
import type { RowStore, WriteBatch } from "../rows/row-store.ts";
import { writeFailure } from "../rows/failures.ts";
import { fixedWidth, idKey } from "../rows/keys.ts";
import type { Span } from "../rows/spare-rows.ts";
import { ChainWriter, type ChainWriterOptions } from "./chain-writer.ts";

/** A batch that is larger takes no more events. */
const BATCH_SIZE = 1024 * 1024;

export interface CommitterOptions extends ChainWriterOptions {
  readonly sync: boolean;
  /** Whether others may follow a failed write, since it leaves the store as it was. Default: false. */
  readonly undoes?: boolean | undefined;
  /** Called before each write; throws when another process owns the store, or its folder is gone. */
  readonly assertOwned: () => void;
  /** Called with the end of the log after each write, before its appends resolve. */
  readonly onSynced?: ((position: number) => void) | undefined;
  /** Called after each written batch, once its appends have resolved. */
  readonly onWritten: () => void;
  /** Called after a failed write, before its appends reject. Memory may differ from the store. */
  readonly onFailed: () => void;
}

export class Committer {
  readonly #database: RowStore;
  readonly #options: CommitterOptions;
  #chain: ChainWriter;
  /** The last global position, including queued events. */
  #position: number;
  #written: ChainMark;
  #indexed: number;
  #filling: Batch | undefined;
  readonly #full: Batch[] = [];
  #writing: Batch | undefined;
  #idle: PromiseWithResolvers<void> | undefined;
  #failure: TurnlogError | undefined;
  /** Why the end of the log could not be told to {@link CommitterOptions.onSynced}. */
  #untold: TurnlogError | undefined;

  constructor(database: RowStore, options: CommitterOptions) {
    this.#database = database;
    this.#options = options;
    this.#position = options.end.position;
    this.#written = options.end;
    this.#indexed = options.end.position;
    this.#chain = new ChainWriter(options);
  }

  /** Why nothing is written any more. */
  get failure(): TurnlogError | undefined {
    return this.#options.undoes === true ? undefined : this.#failure;
  }

  /** @throws TurnlogError the failed write after which nothing is written any more, or that the head was lost with */
  assertUsable(head?: Head): void {
    const failure = head?.isLost === true ? this.#failure : this.failure;
    if (failure !== undefined) throw failure;
  }

  /** The end of what is written. */
  get written(): ChainMark {
    return this.#written;
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
    if (id !== undefined) addId(id, position, globalPosition, share, batch);
  }

  /**
   * Appends a new session, whose rows come in parts, as one batch. They wait in the store's batch, which with
   * LevelDB is outside of JavaScript's heap. The session gets its place in the order with its last part, so nothing
   * waits for it.
   */
  async appendParts(head: Head, parts: AsyncIterable<readonly EventRow[]>): Promise<Appended> {
    const batch = new Batch(this.#database, 0);
    const ids = new Map<string, number>();
    let [revision, createdAt, updatedAt] = [0, 0, 0];
    try {
      for await (const part of parts)
        for (const { position: last, row, events } of part) {
          batch.put(head.prefix + fixedWidth(last), row);
          batch.record.add(0, events.length, checksumOf(row));
          for (const { time, id } of events) {
            revision++;
            if (revision === 1) createdAt = time;
            updatedAt = time;
            if (id === undefined) continue;
            if (ids.has(id)) throw idConflict(head, "one id is used for several events", [id]);
            ids.set(id, revision);
          }
        }
      if (revision === 0) throw nothingToAppend(head);
      this.assertUsable(head);
    } catch (error) {
      await batch.rows.close();
      throw error;
    }
    const share = batch.share(head);
    batch.record.position = this.#position + 1;
    for (const [id, position] of ids) addId(id, position, this.#position + position, share, batch);
    Object.assign(head, { revision, createdAt });
    Object.assign(share, { revision, updatedAt });
    this.#position += revision;
    this.#begin(batch);
    return await batch.promise({ revision, position: this.#position, repeated: false });
  }

  /** Queues changes other than appends as one unit, after everything that is queued already. */
  async write(change: (rows: Pick<Batch, "put" | "del">) => void): Promise<void> {
    await this.#change(change);
  }

  /** Resolves when everything that is queued is written, with all index rows. */
  async caughtUp(): Promise<void> {
    await this.#change((batch) => {
      batch.indexesAll = true;
    });
  }

  async #change(change: (batch: Batch) => void): Promise<void> {
    this.assertUsable();
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
    return open !== undefined && open.size < BATCH_SIZE
      ? open
      : this.#begin(new Batch(this.#database, this.#position + 1));
  }

  #begin(batch: Batch): Batch {
    if (this.#filling !== undefined) this.#full.push(this.#filling);
    else if (this.#writing === undefined) queueMicrotask(() => this.#write());
    this.#filling = batch;
    return batch;
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
      end = this.#chain.finish(batch, this.#written);
      await batch.rows.write({ sync: this.#options.sync });
    } catch (error) {
      this.#failed(batch, error);
      return;
    }
    this.#tellSynced(end.position);
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

  /** Adds merged commit records, late index rows and a mark to a batch that follows all others. */
  settle(batch: Pick<WriteBatch, "put" | "del">): void {
    this.#chain.settle(batch);
    batch.put(...checkedMarkRow(this.#written));
  }

  get spare(): readonly Span[] {
    return this.#chain.spare.spans;
  }

  #committed(batch: Batch, end: ChainMark): void {
    this.#written = end;
    if (end === this.#chain.newestMark) this.#indexed = end.position;
    for (const share of batch.shares) {
      const { head } = share;
      head.committed = share.revision;
      head.updatedAt = share.updatedAt;
      head.queued--;
      // The head stays, and the rows of the batch must not stay with it.
      if (head.share === share) head.share = undefined;
      if (share.ids !== undefined) for (const id of share.ids) head.ids.delete(id);
    }
    this.#options.index.written(batch.shares, batch.indexesAll);
    this.#write();
    batch.keepPromises();
    for (const { head, revision } of batch.shares) head.tail?.advance(revision);
    this.#options.onWritten();
  }

  /** Nothing may follow a failed write, unless the store undoes it: LevelDB's log file may end in half a record. */
  #failed(batch: Batch, error: unknown): void {
    const failure = writeFailure(error);
    const behind = this.#filling === undefined ? this.#full : [...this.#full, this.#filling];
    this.#failure = failure;
    this.#filling = undefined;
    this.#writing = undefined;
    this.#position = this.#written.position;
    this.#chain = new ChainWriter({
      ...this.#options,
      end: this.#written,
      checked: chainStart,
    });
    this.#options.onFailed();
    for (const lost of [batch, ...behind.splice(0)]) lost.breakPromises(failure);
    this.#full.length = 0;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

function addId(
  id: string,
  position: number,
  globalPosition: number,
  share: BatchShare,
  batch: Batch,
): void {
  const { head } = share;
  const key = idKey(head.session, id);
  batch.put(key, withChecksum(key, [position, globalPosition]));
  const appended = { revision: position, position: globalPosition, repeated: true };
  head.ids.set(id, {
    position,
    written: async () => (await batch.promise(appended)).position,
  });
  (share.ids ??= []).push(id);
}
