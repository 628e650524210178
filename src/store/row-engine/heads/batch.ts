/** One write to the store of rows: queued events of any number of sessions, with the promises of their appends. */

import type { TurnlogError, Appended } from "../../../events/index.ts";
import { CommitBuilder } from "../rows/commit-record.ts";
import type { RowStore, WriteBatch } from "../rows/row-store.ts";
import type { BatchShare, Head, PendingBatch } from "./heads.ts";
import { ownFrom } from "./lineage.ts";

interface Promised {
  readonly appended: Appended;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

export class Batch implements PendingBatch {
  readonly rows: WriteBatch;
  readonly record: CommitBuilder;
  readonly shares: BatchShare[] = [];
  /** The approximate size of its rows, in characters. */
  size = 0;
  /** Whether it brings all index rows up to date. */
  indexesAll = false;
  readonly #promised: Promised[] = [];
  #outcome: "open" | "written" | TurnlogError = "open";

  constructor(database: RowStore, position: number) {
    this.rows = database.batch();
    this.record = new CommitBuilder(position);
  }

  share(head: Head): BatchShare {
    if (head.share?.batch === this) return head.share;
    const share: BatchShare = {
      batch: this,
      head,
      index: this.record.enter(head.session, head.revision + 1),
      isFirst: head.revision + 1 === ownFrom(head.link),
      revision: head.revision,
      updatedAt: 0,
      ids: undefined,
    };
    head.share = share;
    head.queued++;
    this.shares.push(share);
    return share;
  }

  put(key: string, row: string): void {
    this.rows.put(key, row);
    this.size += key.length + row.length;
  }

  del(key: string): void {
    this.rows.del(key);
    this.size += key.length;
  }

  /** Resolves when the batch is written, or rejects with its failure. */
  promise(appended: Appended): Promise<Appended> {
    if (this.#outcome === "written") return Promise.resolve(appended);
    if (this.#outcome !== "open") return Promise.reject(this.#outcome);
    return new Promise((resolve, reject) => this.#promised.push({ appended, resolve, reject }));
  }

  keepPromises(): void {
    this.#outcome = "written";
    for (const { appended, resolve } of this.#promised) resolve(appended);
  }

  breakPromises(error: TurnlogError): void {
    this.#outcome = error;
    for (const { reject } of this.#promised) reject(error);
  }
}
