/** A layer between the log and its database that delays and fails on demand. */
import type { Level } from "level";
import { MemoryLevel } from "memory-level";
import { checkChain } from "../../../src/store/row-engine/read/chain-check.ts";
import { chainStart } from "../../../src/store/row-engine/rows/commit-record.ts";
import type { MomentStore, Snapshot } from "../../../src/store/leveldb/backup/backup-store.ts";
import type { KeyRange, Scan, WriteBatch } from "../../../src/store/row-engine/rows/row-store.ts";
import { catchUpIndex } from "../../../src/store/row-engine/upkeep/opening.ts";
import { type StoreLog, LevelLog } from "../../../src/store/leveldb/level-log.ts";
import { memoryBlobs } from "../../../src/store/blobs/memory-blobs.ts";

/** What can fail: writing a batch, looking up rows, reading on in a scan. */
type Operation = "write" | "get" | "scan";

/** Called before each operation. */
export type Delay = (operation: Operation) => Promise<void>;

class FaultyDatabase implements MomentStore {
  readonly #inner: MomentStore;
  readonly #delay: Delay;
  readonly #faults: Record<Operation, { after: number; error: Error }[]> = {
    write: [],
    get: [],
    scan: [],
  };
  /** How often each operation was begun. */
  readonly counts: Record<Operation, number> = { write: 0, get: 0, scan: 0 };
  /** The batches that are being written now. */
  writing = 0;
  /** The most batches at one time. */
  mostWriting = 0;
  openScans = 0;

  constructor(inner: MomentStore, delay: Delay = () => Promise.resolve()) {
    this.#inner = inner;
    this.#delay = delay;
  }

  /** Lets an operation fail once, after some that succeed. */
  fail(operation: Operation, error: Error, after = 0): void {
    this.#faults[operation].push({ after, error });
  }

  async #pass(operation: Operation): Promise<void> {
    this.counts[operation]++;
    await this.#delay(operation);
    const fault = this.#faults[operation][0];
    if (fault === undefined) return;
    if (fault.after-- > 0) return;
    this.#faults[operation].shift();
    throw fault.error;
  }

  async getMany(keys: string[]): Promise<(string | undefined)[]> {
    await this.#pass("get");
    return this.#inner.getMany(keys);
  }

  iterator(range: KeyRange & { readonly snapshot?: Snapshot }): Scan {
    return this.#scan(this.#inner.iterator(range));
  }

  batch(): WriteBatch {
    const batch = this.#inner.batch();
    return {
      put: (key, value) => batch.put(key, value),
      del: (key) => batch.del(key),
      write: async (options) => {
        this.mostWriting = Math.max(this.mostWriting, ++this.writing);
        try {
          await this.#pass("write");
          await batch.write(options);
        } finally {
          this.writing--;
        }
      },
      close: () => batch.close(),
    };
  }

  snapshot(): Snapshot {
    return this.#inner.snapshot();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #scan(inner: Scan): Scan {
    this.openScans++;
    let open = true;
    return {
      nextv: async (size) => {
        await this.#pass("scan");
        return inner.nextv(size);
      },
      close: async () => {
        if (open) this.openScans--;
        open = false;
        await inner.close();
      },
    };
  }
}

export interface FaultyLog<Rows = MemoryLevel> {
  readonly log: StoreLog;
  readonly database: FaultyDatabase;
  /** The stored rows. */
  readonly rows: Rows;
}

/** A log in memory above a faulty layer. */
export async function openFaultyLog(delay?: Delay): Promise<FaultyLog> {
  const rows = new MemoryLevel({ storeEncoding: "utf8" });
  await rows.open();
  return openOver(rows, delay);
}

/** A log above existing rows, like a store that is opened again. */
export async function openOver<Rows extends MemoryLevel | Level>(
  rows: Rows,
  delay?: Delay,
): Promise<FaultyLog<Rows>> {
  const database = new FaultyDatabase(rows, delay);
  await rows.open();
  const { end, checked, since } = await checkChain(rows, chainStart);
  await catchUpIndex(rows, since);
  const log = new LevelLog(database, {
    sync: false,
    blobs: memoryBlobs(),
    end,
    checked,
    release: () => database.close(),
  });
  return { log, database, rows };
}
