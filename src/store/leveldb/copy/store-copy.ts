/**
 * Writes the rows of one database into a new one. Each session keeps its events up to the first missing or altered
 * one; index rows, event ids and, behind a loss, the global order are rebuilt from them. A backup refuses the
 * first damage; a repair continues.
 */

import { isDeepStrictEqual } from "node:util";
import { crc32 } from "node:zlib";
import { envelopesIn, firstLink, isMergedRow } from "../../event-rows/index.ts";
import type { ForkPoint } from "../../../events/index.ts";
import { ownFrom } from "../../row-engine/heads/lineage.ts";
import { snapshotIn } from "../../row-engine/read/snapshots.ts";
import {
  allRows,
  BatchWriter,
  type RowStore,
  rowAt,
  type Rows,
  rowsAtOnce,
} from "../../row-engine/rows/row-store.ts";
import {
  blobsIn,
  type StoredBlob,
  eventKey,
  parseEventKey,
  sessionIn,
  sessionKey,
  under,
} from "../../row-engine/rows/keys.ts";
import {
  type ChainMark,
  chainStart,
  checkedMarkRow,
  rowContent,
  withChecksum,
} from "../../row-engine/rows/commit-record.ts";
import {
  indexRow,
  readIndex,
  readTombstone,
  SinceMark,
} from "../../row-engine/rows/session-rows.ts";
import { CopiedOrder, type CopiedSession, newSession, ownEventCount } from "./copied-order.ts";

export interface Damage {
  /** Left out where it is not one session's: the position is a global one, or 0. */
  readonly session?: string;
  readonly position: number;
  readonly why: string;
}

export interface StoreCopyOptions {
  /** The global position up to which index rows are complete: commit records tell the rest. */
  readonly indexed: number;
  /** May throw, which ends the copy. */
  readonly onDamage: (damage: Damage) => void;
  /** Called now and then while events are copied. */
  readonly onEvents?: (copy: StoreCopy) => void;
}

const ROWS = 1000;
const PREFIXES = ["c/", "d/", "e/", "i/", "m/", "n/", "q/", "r/", "s/", "x/"];

export class StoreCopy {
  readonly #source: Rows;
  readonly #target: RowStore;
  readonly #writer: BatchWriter;
  readonly #options: StoreCopyOptions;
  readonly #since: SinceMark;
  #isDamaged = false;
  #current: CopiedSession | undefined;
  /** Where the kept rows of the current session begin. */
  readonly #starts = new Set<number>();
  /** Deleted sessions that still have rows. */
  readonly #uncovered = new Set<string>();
  readonly sessions = new Map<string, CopiedSession>();
  /** The last positions of deleted sessions. */
  readonly deleted = new Map<string, number>();
  /** The blobs that copied events name, each with the first of them. */
  readonly blobs = new Map<string, StoredBlob>();
  /** Rows under keys that nothing has. */
  strays = 0;
  /** Snapshots that were left out: they are a cache. */
  badSnapshots = 0;
  /** Copied events. */
  events = 0;
  /** The end of the chain of commit records. */
  end: ChainMark = chainStart;

  constructor(source: Rows, target: RowStore, options: StoreCopyOptions) {
    this.#source = source;
    this.#target = target;
    this.#writer = new BatchWriter(target);
    this.#options = options;
    this.#since = new SinceMark(options.indexed);
  }

  /** @throws TurnlogError `EVENT_TOO_NEW` if a row of a later release names a blob, and as `onDamage` */
  async write(): Promise<void> {
    await this.#tombstones();
    await this.#events();
    await this.#dropOrphans();
    await this.#writer.flush();
    const order = new CopiedOrder({
      source: this.#source,
      target: this.#target,
      writer: this.#writer,
      sessions: this.sessions,
      deleted: this.deleted,
      since: this.#since,
      onDisorder: (position) => {
        const why = `the commit record at global position ${position} is missing or does not fit`;
        this.#damage({ position, why });
      },
      onLost: (session, last) => {
        this.#known(session, this.#session(session), last);
      },
    });
    await order.write();
    this.end = order.end;
    await this.#indexRows();
    await this.#others(order.sameUpTo);
    await this.#writer.put(...checkedMarkRow(this.end));
    await this.#writer.flush();
    await this.#compareIds();
  }

  #session(session: string): CopiedSession {
    const known = this.sessions.get(session);
    if (known !== undefined) return known;
    const own = newSession();
    this.sessions.set(session, own);
    return own;
  }

  /** Tells the first sign that a session has lost its end. */
  #known(session: string, own: CopiedSession, last: number): void {
    const isNew = own.after === 0 && own.known <= own.kept && last > own.kept;
    own.known = Math.max(own.known, last);
    if (isNew) this.#damaged(session, own.kept + 1, "the event is missing");
  }

  #damaged(session: string, position: number, why: string): void {
    this.#damage({ session, position, why });
  }

  #damage(damage: Damage): void {
    this.#isDamaged = true;
    this.#options.onDamage(damage);
  }

  async #tombstones(): Promise<void> {
    for await (const [key, row] of allRows(this.#source, under("d/"))) {
      const session = sessionIn(key);
      const tombstone = readTombstone(session, row);
      if (tombstone === undefined) {
        this.strays++;
        this.#damaged(session, 0, "the row of its deletion is altered");
        continue;
      }
      this.deleted.set(session, tombstone.revision);
      await this.#writer.put(key, row);
    }
  }

  async #events(): Promise<void> {
    let rows = 0;
    for await (const [key, row] of rowsAtOnce(this.#source, under("e/"))) {
      const place = parseEventKey(key);
      if (place === undefined) this.#stray(key);
      else if (this.deleted.has(place.session)) this.#uncover(place.session);
      else if (await this.#take(key, row, place)) await this.#writer.put(key, row);
      if (++rows % ROWS === 0) this.#options.onEvents?.(this);
    }
    this.#options.onEvents?.(this);
  }

  #stray(key: string): void {
    this.strays++;
    if (this.strays === 1)
      this.#damage({ position: 0, why: `there is a row under the key ${key}` });
  }

  /** Damage may bring rows of a deleted session back. */
  #uncover(session: string): void {
    if (this.#uncovered.has(session)) return;
    this.#uncovered.add(session);
    this.#damaged(session, 0, "it was deleted, and rows of it are still there");
  }

  /** Whether the row is the next one of its session. */
  async #take(
    key: string,
    row: string,
    place: { readonly session: string; readonly position: number },
  ): Promise<boolean> {
    const { session, position } = place;
    const own = this.#session(session);
    if (own !== this.#current) this.#starts.clear();
    this.#current = own;
    const events = envelopesIn(row, place);
    const from = position - events.length + 1;
    if (own.kept === 0 && own.after === 0 && from > 1 && events.length > 0) {
      own.link = await this.#linkOf(place, row);
      own.kept = own.link?.position ?? 0;
    }
    // A merged row may stand beside what it replaced, where damage took the notes that those rows are gone.
    if (isMergedRow(row) && (from === own.kept + 1 || this.#starts.has(from))) {
      await this.#removeFrom(session, own, from);
      own.after = 0;
    }
    if (own.after > 0 || events.length === 0 || from !== own.kept + 1) {
      if (own.after === 0) {
        const isAltered = events.length === 0 && position === own.kept + 1;
        const why = isAltered ? "its checksum does not match" : "the event is missing";
        this.#damaged(session, own.kept + 1, why);
      }
      // An altered key may name any session and position: it proves nothing.
      if (events.length === 0) own.after += 1;
      else {
        own.after += Math.max(0, position - Math.max(own.counted, own.kept, from - 1));
        own.counted = Math.max(own.counted, position);
        own.known = Math.max(own.known, position);
      }
      return false;
    }
    for (const [index, { time, id }] of events.entries()) {
      if (from + index === ownFrom(own.link)) own.createdAt = time;
      own.updatedAt = time;
      if (id !== undefined) own.ids.push({ position: from + index, id });
    }
    this.#starts.add(from);
    own.kept = position;
    own.known = position;
    this.events += events.length;
    for (const blob of blobsIn(key, row))
      if (!this.blobs.has(blob.sha256)) this.blobs.set(blob.sha256, blob);
    return true;
  }

  async #removeFrom(session: string, own: CopiedSession, from: number): Promise<void> {
    for (let position = from; position <= own.kept; position++)
      await this.#writer.del(eventKey(session, position));
    this.events -= Math.max(0, own.kept - from + 1);
    own.kept = Math.min(own.kept, from - 1);
  }

  /**
   * The link of a session whose first row is not at position 1. Its index row tells whether it is a fork, since
   * imported sessions look alike; without a readable row, the event decides.
   */
  async #linkOf(
    place: { readonly session: string; readonly position: number },
    row: string,
  ): Promise<ForkPoint | undefined> {
    const link = firstLink(row, place);
    if (link === undefined) return undefined;
    const index = await rowAt(this.#source, sessionKey(place.session));
    const entry = index === undefined ? undefined : readIndex(place.session, index);
    return entry !== undefined && entry.link === undefined ? undefined : link;
  }

  /** Without the events that it shares nothing of a fork can be read, nor of the forks of it. */
  async #dropOrphans(): Promise<void> {
    for (let isChanged = true; isChanged;) {
      isChanged = false;
      for (const [session, own] of this.sessions) {
        const { link } = own;
        const shared = link && (this.sessions.get(link.session)?.kept ?? 0);
        if (link === undefined || shared === undefined || shared >= link.position) continue;
        const { session: parent, position } = link;
        const why = `it is a fork of ${parent} at position ${position}, but ${parent} is readable only up to ${shared}`;
        this.#damaged(session, position + 1, why);
        own.after += ownEventCount(own);
        await this.#removeFrom(session, own, position + 1);
        Object.assign(own, { kept: 0, shared: position, link: undefined, ids: [] });
        isChanged = true;
      }
    }
  }

  async #indexRows(): Promise<void> {
    for await (const [key, row] of allRows(this.#source, under("s/"))) {
      const session = sessionIn(key);
      if (this.deleted.has(session)) {
        this.#uncover(session);
        continue;
      }
      const own = this.#session(session);
      own.index = readIndex(session, row);
      if (own.kept === 0) own.shared = own.index?.link?.position ?? 0;
      this.#known(session, own, own.index?.revision ?? 0);
    }
    for (const [session, own] of this.sessions) {
      const { index, kept: revision, known, createdAt, updatedAt, link } = own;
      if (revision === 0) continue;
      const entry = { revision, createdAt, updatedAt, link };
      // Rows that are only behind are no damage: opening corrects them.
      const stored = index && this.#since.caughtUp(session, index, updatedAt);
      if (known === revision && !isDeepStrictEqual(stored, entry))
        this.#damaged(session, revision, "its index row is missing or does not fit its events");
      const { key, row } = indexRow(session, entry);
      await this.#writer.put(key, row);
    }
  }

  /** Snapshots, positions of consumers, and what earlier releases set aside in a repair. */
  async #others(sameUpTo: number): Promise<void> {
    for await (const [key, row] of allRows(this.#source, under("n/"))) {
      const found = snapshotIn(key, row);
      // Those over all sessions hold as long as the global order does.
      const kept = found?.session === "" ? sameUpTo : this.sessions.get(found?.session ?? "")?.kept;
      if (found !== undefined && found.snapshot.position <= (kept ?? 0))
        await this.#writer.put(key, row);
      else this.badSnapshots++;
    }
    for await (const [key, row] of allRows(this.#source, under("q/")))
      if (!this.deleted.has(sessionIn(key))) await this.#writer.put(key, row);
    for await (const [key, row] of allRows(this.#source, under("r/"))) {
      const position = rowContent(key, row);
      if (typeof position !== "number") {
        const why = `the stored position of a consumer (${key}) is altered`;
        this.#damage({ position: 0, why });
      }
      // An event that moved in the global order might be behind a consumer that has not seen it.
      const isSure = typeof position === "number" && position <= sameUpTo;
      await this.#writer.put(key, isSure ? row : withChecksum(key, 0));
    }
    let from = "";
    for (const prefix of [...PREFIXES, "\u{10ffff}"]) {
      for await (const [key] of allRows(this.#source, { gte: from, lt: prefix })) this.#stray(key);
      from = `${prefix.slice(0, -1)}0`;
    }
  }

  /** The rows of event ids were written from the events: where nothing else is wrong, the source has the same. */
  async #compareIds(): Promise<void> {
    if (this.#isDamaged || (await idsIn(this.#source)) === (await idsIn(this.#target))) return;
    this.#damage({ position: 0, why: "rows of event ids are missing or do not fit" });
  }
}

/** A checksum over all rows of event ids. */
async function idsIn(rows: Rows): Promise<number> {
  let sum = 0;
  for await (const [key, row] of allRows(rows, under("i/"))) sum = crc32(key + row, sum);
  return sum;
}
