/**
 * Checks every row that a backup copies, in key order: a damaged copy would pass for a good one.
 * Drops and corrects rows where needed, and finds the end of the commit chain.
 */

import { envelopesIn, eventsIn } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/index.ts";
import { isIntact, type TurnlogError } from "../../../events/index.ts";
import {
  chainStart,
  readCommit,
  type ChainMark,
  commitDamage,
  indexRow,
  readIndex,
  numberOf,
  parseEventKey,
  readTombstone,
  checkedRow,
  rowContent,
  SinceMark,
  sessionIn,
} from "../rows/index.ts";
import { positionsSchema, ownFrom } from "../heads/index.ts";
import { snapshotIn } from "../read/index.ts";

interface Held {
  readonly from: number;
  to: number;
  /** The time of the last event, if the session's index row may be behind. */
  updatedAt: number | undefined;
}

export class RowCheck {
  events = 0;
  /**
   * Expected events, from the rows so far: those in commit records, minus deleted ones, plus copies
   * of shared events, which no record names.
   */
  of = 0;
  sessions = 0;
  end: ChainMark = chainStart;
  readonly #named = new Map<string, number>();
  /** The first of those positions, and their number. */
  readonly #recorded = new Map<string, { readonly from: number; count: number }>();
  readonly #deleted = new Set<string>();
  readonly #held = new Map<string, Held>();
  readonly #since: SinceMark;

  /** @param indexed - The global position up to which index rows are complete. */
  constructor(indexed: number) {
    this.#since = new SinceMark(indexed);
  }

  /**
   * Undefined if the row is left out.
   * @throws TurnlogError `LOG_DAMAGED` if it is altered or an earlier one missing
   */
  take(key: string, row: string): string | undefined {
    const session = sessionIn(key);
    switch (key.slice(0, 2)) {
      case "c/":
        this.#commit(key, row);
        return row;
      case "d/":
        if (readTombstone(session, row) === undefined)
          throw damagedAt(session, 0, "the row of its deletion is altered");
        this.#deleted.add(session);
        this.of -= this.#recorded.get(session)?.count ?? 0;
        return row;
      case "x/":
        // The copy's files never contained the deleted rows.
        return undefined;
      case "e/":
        this.#events(key, row);
        return row;
      case "i/":
        if (checkedRow(key, row, positionsSchema) !== undefined) return row;
        throw damagedAt(session, 0, "the row of an event id is altered");
      case "s/":
        return this.#index(session, row);
      case "n/":
        // A cache: a damaged snapshot is left out.
        return snapshotIn(key, row) === undefined ? undefined : row;
      case "r/":
        if (rowContent(key, row) !== undefined) return row;
        throw commitDamage(0, `the stored position of a consumer (${key}) is altered`);
      case "m/":
        // The copy gets its own marks.
        return undefined;
      default:
        return row;
    }
  }

  finish(): void {
    for (const [session, to] of this.#named) {
      if (!this.#deleted.has(session) && !this.#held.has(session)) throw lost(session, 1, to);
    }
    for (const [session, { to }] of this.#held) throw unlisted(session, to);
  }

  #commit(key: string, row: string): void {
    const position = numberOf(key);
    const record = readCommit(position, row);
    const expected = this.end.position + 1;
    if (record?.position !== expected || record.previous !== this.end.checksum) {
      throw commitDamage(
        expected,
        `the commit record at global position ${expected} is missing or altered`,
      );
    }
    this.end = { position: position + record.count - 1, checksum: record.checksum };
    this.#since.add(record);
    for (const { session, from, count } of record.ranges) {
      this.#named.set(session, from + count - 1);
      const recorded = this.#recorded.get(session);
      if (recorded === undefined) this.#recorded.set(session, { from, count });
      else recorded.count += count;
      this.of += count;
    }
  }

  #events(key: string, row: string): void {
    const place = parseEventKey(key);
    if (place === undefined) throw commitDamage(0, `there is a row under the key ${key}`);
    const { session, position } = place;
    if (!isIntact(row, place)) throw damagedAt(session, position, "its checksum does not match");
    const count = eventsIn(row);
    const from = position - count + 1;
    const isLast = this.#since.of(session)?.to === position;
    const updatedAt = isLast ? envelopesIn(row, place).at(-1)?.time : undefined;
    const held = this.#held.get(session);
    if (held === undefined) {
      this.#held.set(session, { from, to: position, updatedAt });
      this.of += Math.max(0, (this.#recorded.get(session)?.from ?? from) - from);
    } else if (from !== held.to + 1) throw damagedAt(session, held.to + 1, "the event is missing");
    else Object.assign(held, { to: position, updatedAt });
    this.events += count;
  }

  #index(session: string, row: string): string {
    const stored = readIndex(session, row);
    if (stored === undefined) throw damagedAt(session, 0, "its index row is altered");
    const held = this.#held.get(session);
    const entry = this.#since.caughtUp(session, stored, held?.updatedAt);
    const { revision, link } = entry;
    const named = this.#named.get(session) ?? 0;
    const from = ownFrom(link);
    if (held?.from !== from || this.#deleted.has(session)) throw lost(session, from, revision);
    if (held.to !== revision || named !== revision)
      throw lost(session, Math.min(held.to, named, revision) + 1, Math.max(held.to, revision));
    this.#held.delete(session);
    this.#named.delete(session);
    this.sessions++;
    return entry === stored ? row : indexRow(session, entry).row;
  }
}

function lost(session: string, from: number, to: number): TurnlogError {
  return damagedAt(session, from, `not all of its events up to ${to} are there`);
}

function unlisted(session: string, to: number): TurnlogError {
  return damagedAt(session, to, `its index row is missing`);
}
