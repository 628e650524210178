/**
 * The rows of the studio's list, newest first. The page asks every few seconds and at each letter of a search, so
 * a row is kept while the log of its session stays the same.
 */

import type { EventLog, SessionEntry } from "../../events/index.ts";
import {
  inOrder,
  listedSession,
  timeOf,
  withSnapshots,
  type ListedSession,
} from "../../state/index.ts";
import { sessionSummary } from "../../projections/index.ts";

/** `error`: why its last turn failed. */
export type StudioRow = ListedSession & { readonly error?: string };

/** Unused rows are dropped. */
const KEPT_MS = 60_000;
/** Sessions whose summaries are read together. */
const TOGETHER = 256;
/** So many are read before a person searches, a moment after the first page. */
const MOST_AHEAD = 4_000;
const AHEAD_MS = 1_000;
const MOST_KEPT = 20_000;
/** Few events follow the end of a turn while the session is idle. */
const MOST_AFTER_TURN = 8;
const MOST_OF_ERROR = 300;

export class ListedRows {
  readonly #rows = new Map<string, StudioRow>();
  #ending: ReturnType<typeof setTimeout> | undefined;
  #ahead: ReturnType<typeof setTimeout> | undefined;

  /** By the beginning of their last turn. */
  async *newest(log: EventLog): AsyncGenerator<StudioRow, void, void> {
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#rows.clear(), KEPT_MS).unref();
    const entries = await Array.fromAsync(log.list());
    entries.sort((one, other) => other.updatedAt - one.updatedAt);
    clearTimeout(this.#ahead);
    this.#ahead = setTimeout(() => void this.#readAhead(log, entries), AHEAD_MS).unref();
    let found: StudioRow[] = [];
    for (let from = 0; from < entries.length; from += TOGETHER) {
      found.push(...(await this.#read(log, entries.slice(from, from + TOGETHER))));
      found.sort((one, other) => inOrder(placeOf(one), placeOf(other)));
      // No session that was not read has a later turn than its last event.
      const next = entries[from + TOGETHER]?.updatedAt ?? -Infinity;
      const later = found.findIndex((row) => timeOf(row) <= next);
      const isSettled = later === -1 ? found.length : later;
      yield* found.slice(0, isSettled);
      found = found.slice(isSettled);
    }
  }

  async #readAhead(log: EventLog, entries: readonly SessionEntry[]): Promise<void> {
    try {
      for (let from = 0; from < Math.min(MOST_AHEAD, entries.length); from += TOGETHER)
        await this.#read(log, entries.slice(from, from + TOGETHER));
    } catch {
      // The next list tells of it.
    }
  }

  async #read(log: EventLog, entries: readonly SessionEntry[]): Promise<readonly StudioRow[]> {
    const isKnown = ({ session, revision, updatedAt }: SessionEntry): boolean => {
      const row = this.#rows.get(session);
      return row?.revision === revision && row.updatedAt === updatedAt;
    };
    const changed = entries.filter((entry) => !isKnown(entry));
    const read = new Map<string, StudioRow>();
    for await (const [entry, stored] of withSnapshots(log, changed, sessionSummary.name)) {
      const row = await withError(log, await listedSession(log, entry, stored));
      read.set(entry.session, row);
      // What could not be read is tried again.
      this.#rows.delete(entry.session);
      if (row.problem === undefined && this.#rows.size < MOST_KEPT)
        this.#rows.set(entry.session, row);
    }
    return entries.flatMap(({ session }) => {
      const row = read.get(session) ?? this.#rows.get(session);
      return row === undefined || row.problem?.code === "SESSION_DELETED" ? [] : [row];
    });
  }
}

const placeOf = (row: StudioRow) => ({ session: row.session, time: timeOf(row) });

async function withError(log: EventLog, row: ListedSession): Promise<StudioRow> {
  if (row.status !== "idle" || row.lastEnd !== "failed" || row.problem !== undefined) return row;
  const first = Math.max(1, row.revision - MOST_AFTER_TURN + 1);
  const range = Array.from({ length: row.revision - first + 1 }, (_, index) => first + index);
  const end = (await log.readAt(row.session, range)).findLast(({ type }) => type === "turn.ended");
  const error = end?.type === "turn.ended" ? end.data.error?.message : undefined;
  return error === undefined ? row : { ...row, error: error.slice(0, MOST_OF_ERROR) };
}
