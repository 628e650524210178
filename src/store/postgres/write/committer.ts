/**
 * Writes queued appends in batches. What arrives while a batch is written becomes the next one. No timer: a slower
 * database makes larger batches. While the database writes one half of many sessions, this process encodes and
 * answers the other half: two batches without a common session may be under way.
 *
 * Another process may have written to a session. The database then refuses this session's part of the
 * batch: its head is read again, and its appends are decided again, in order (`onRefused`).
 */

import type { Appended } from "../../../events/index.ts";
import { databaseFailure, isUnknownOutcome, sqlState } from "../database/failures.ts";
import { type Database, position } from "../database/statements.ts";
import type { Head } from "../heads/heads.ts";
import {
  addTo,
  complete,
  shareOf,
  writeBatch,
  type CompleteShare,
  type SessionShare,
  type Written,
  newestRow,
} from "./batch.ts";
import type { QueuedAppend } from "./batch.ts";
import { z } from "zod";

/** Characters of rows: a batch that is larger takes no more appends. */
const BATCH_SIZE = 1024 * 1024;
/** Rows that are worth a second batch: fewer cost less as part of the next one. */
const WORTH_A_BATCH = 64;
/** SQLSTATE deadlock_detected. */
const DEADLOCK = "40P01";

export interface CommitterOptions {
  readonly sql: Database;
  /** For statements that may run twice. */
  readonly retrying: Database;
  readonly onRefused: (head: Head, appends: readonly QueuedAppend[]) => void;
  /** Called after each written batch, once its appends have resolved. */
  readonly onWritten: (sessions: readonly string[]) => void;
  /** Called when a write failed: the head may differ from the database. */
  readonly onFailed: (head: Head) => void;
}

/** One batch at a time. */
interface Lane {
  batch: Promise<void> | undefined;
  /** The row of the global order that its next small batch joins: a shared one would make batches wait. */
  row: number;
}

export class Committer {
  readonly #options: CommitterOptions;
  readonly #lanes: readonly Lane[] = [
    { batch: undefined, row: 0 },
    { batch: undefined, row: 0 },
  ];
  #queue: QueuedAppend[] = [];
  /** Counts the queued rows of sessions that no running batch writes. */
  #ready = 0;
  /** Sessions of the batches that are under way. */
  readonly #writing = new Set<Head>();
  #starting: Promise<void> | undefined;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  append(append: QueuedAppend): Promise<Appended> {
    append.head.queued++;
    for (const row of append.rows) append.head.tail?.push(row);
    this.#queue.push(append);
    if (!this.#writing.has(append.head)) this.#ready += append.rows.length;
    this.#start();
    return append.answer.promise;
  }

  get isBusy(): boolean {
    return this.#queue.length > 0 || this.#writing.size > 0;
  }

  /** Resolves when everything that is queued now is written or refused. */
  async idle(): Promise<void> {
    const before = new Set(this.#queue);
    for (let [first] = this.#queue; first !== undefined && before.has(first); [first] = this.#queue)
      await Promise.race([this.#starting, ...this.#batches()].filter((one) => one !== undefined));
    await this.answered();
  }

  /** Resolves when the appends of the batches that are being written have resolved. */
  async answered(): Promise<void> {
    await Promise.all(this.#batches());
  }

  #batches(): readonly Promise<void>[] {
    return this.#lanes.flatMap(({ batch }) => batch ?? []);
  }

  #start(): void {
    // Appends of the same tick share a batch.
    this.#starting ??= Promise.resolve().then(() => {
      this.#starting = undefined;
      for (const lane of this.#lanes) if (lane.batch === undefined) this.#startIn(lane);
    });
  }

  #startIn(lane: Lane): void {
    const isSecond = this.#writing.size > 0;
    if (this.#ready < (isSecond ? WORTH_A_BATCH : 1)) return;
    const half = Math.ceil(this.#ready / 2);
    const shares = this.#take(isSecond || half < WORTH_A_BATCH ? this.#ready : half);
    lane.batch = this.#write(lane, shares).finally(() => {
      lane.batch = undefined;
      for (const { head } of shares) this.#writing.delete(head);
      this.#count();
      this.#start();
    });
  }

  #count(): void {
    this.#ready = 0;
    for (const { head, rows } of this.#queue)
      if (!this.#writing.has(head)) this.#ready += rows.length;
  }

  /** Takes appends of some `most` rows. */
  #take(most: number): readonly CompleteShare[] {
    const shares = new Map<Head, SessionShare>();
    const skipped: QueuedAppend[] = [];
    let [taken, size, rows] = [0, 0, 0];
    for (const append of this.#queue) {
      const share = shares.get(append.head) ?? shareOf(append);
      if (size > BATCH_SIZE || rows >= most || isOfAnotherClaim(share, append)) break;
      taken++;
      if (this.#writing.has(append.head)) {
        skipped.push(append);
        continue;
      }
      shares.set(append.head, share);
      addTo(share, append);
      for (const { row } of append.rows) size += row.length;
      rows += append.rows.length;
    }
    this.#queue = [...skipped, ...this.#queue.slice(taken)];
    for (const head of shares.keys()) this.#writing.add(head);
    this.#count();
    // In one order in every process: appends of several ones then do not wait for each other in a circle.
    return [...shares.values()].toSorted(byName).map(complete);
  }

  async #write(lane: Lane, shares: readonly CompleteShare[]): Promise<void> {
    const { onWritten } = this.#options;
    let result: Written;
    try {
      result = await this.#written(lane, shares);
    } catch (error) {
      await Promise.all(shares.map((share) => this.#failed(share, error)));
      for (const { head } of shares) head.tail?.advance(head.committed);
      onWritten([]);
      return;
    }
    lane.row = result.batch;
    const written: string[] = [];
    for (const [index, share] of shares.entries()) {
      const { head } = share;
      const outcome = result.outcomes[index];
      if (outcome === undefined) this.#refused(share);
      else {
        head.number = outcome.number;
        this.#accepted(share, outcome.first);
        written.push(head.session);
      }
    }
    // A caller that waits for its append continues before subscribers see the events.
    await Promise.resolve();
    for (const { head } of shares) head.tail?.advance(head.committed);
    onWritten(written);
  }

  async #written(lane: Lane, shares: readonly CompleteShare[]): Promise<Written> {
    for (;;) {
      try {
        return await writeBatch(this.#options.sql, shares, lane.row);
      } catch (error) {
        // A circle after all, with another release: nothing of this batch was written.
        if (sqlState(error) !== DEADLOCK) throw error;
      }
    }
  }

  #accepted({ head, appends, base, revision, ids }: SessionShare, first: number): void {
    head.committed = Math.max(head.committed, revision);
    for (const { id } of ids) head.ids.delete(id);
    for (const { base: before, events, answer } of appends) {
      head.queued--;
      const end = before + events.length;
      answer.resolve({ revision: end, position: first + end - base - 1, repeated: false });
    }
  }

  #refused(share: SessionShare): void {
    this.#options.onRefused(share.head, this.#withdraw(share));
  }

  async #failed(share: CompleteShare, error: unknown): Promise<void> {
    const { head } = share;
    const doing = `Appending to session ${head.session}`;
    let failure = databaseFailure(error, doing);
    if (isUnknownOutcome(error)) {
      try {
        const global = await isCommitted(this.#options.retrying, doing, share);
        if (global !== undefined) return this.#accepted(share, global);
        // Nothing was written: what names its position may be written now, and only once.
        if (
          share.appends.every(({ expected }) => expected === "none" || typeof expected === "number")
        )
          return this.#refused(share);
      } catch (again) {
        failure = again;
      }
    }
    for (const { answer } of this.#withdraw(share)) answer.reject(failure);
    this.#options.onFailed(head);
  }

  /** The appends of a share and those behind it, which build on it. */
  #withdraw({ head, appends: written }: SessionShare): readonly QueuedAppend[] {
    const behind = this.#queue.filter((append) => append.head === head);
    this.#queue = this.#queue.filter((append) => append.head !== head);
    const appends = [...written, ...behind];
    head.queued -= appends.length;
    head.ids.clear();
    head.tail?.forget();
    return appends;
  }
}

/** All appends of a session's share are accepted, or none. */
function isOfAnotherClaim({ epoch }: SessionShare, { options }: QueuedAppend): boolean {
  return epoch !== undefined && options.epoch !== undefined && epoch !== options.epoch;
}

function byName({ head: one }: SessionShare, { head: other }: SessionShare): number {
  return one.session < other.session ? -1 : 1;
}

// Finds out whether a batch was committed whose connection broke. The row lock waits for an append that
// is still under way; then the session's newest row is ours or it is not.

const foundSchema = z.object({ number: position, line: z.string() });
const globalSchema = z.object({ global: position });

/** The global position of the share's first event; undefined if nothing of it was committed. */
async function isCommitted(
  database: Database,
  doing: string,
  share: CompleteShare,
): Promise<number | undefined> {
  const { head, base, revision } = share;
  return await database.transaction(doing, async (sql) => {
    await sql.run()`SELECT 1 FROM turnlog.sessions WHERE id = ${head.session} FOR NO KEY UPDATE`;
    const [found] = await sql.rows(foundSchema)`SELECT s.number, e.line FROM turnlog.sessions s
      JOIN turnlog.events e ON e.session = s.number AND e.position = ${revision}
      WHERE s.id = ${head.session} AND NOT s.is_deleted`;
    if (found === undefined || found.line !== newestRow(share)?.row) return undefined;
    // Newest first: it was written a moment ago.
    const [run] = await sql.rows(
      globalSchema,
    )`SELECT r.position + ${base + 1}::bigint - r.first AS global
      FROM turnlog.batches b, LATERAL turnlog.runs_in(b.position, b.shares) r
      WHERE r.session = ${found.number} AND r.first <= ${base + 1} AND r.first + r.count > ${base + 1}
      ORDER BY b.position DESC LIMIT 1`;
    return run?.global;
  });
}
