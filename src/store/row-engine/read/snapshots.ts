/** Rows of snapshots. A snapshot is a cache: an unreadable one is ignored. */

import type { Snapshot } from "../../../events/index.ts";
import { isSnapshot } from "../../log-rules/snapshot-rows.ts";
import type { RowStore } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import { snapshotKey, sessionIn } from "../rows/keys.ts";
import { withChecksum, rowContent } from "../rows/commit-record.ts";

export function snapshotRow(
  session: string,
  snapshot: Snapshot,
): { readonly key: string; readonly row: string } {
  const key = snapshotKey(session, snapshot.projection);
  return { key, row: withChecksum(key, snapshot) };
}

/** The snapshot of a row and its session; undefined if the row is damaged. */
export function snapshotIn(
  key: string,
  row: string,
): { readonly session: string; readonly snapshot: Snapshot } | undefined {
  const session = sessionIn(key);
  const snapshot = checkedSnapshot(key, row);
  const fits = snapshot !== undefined && key === snapshotKey(session, snapshot.projection);
  return fits ? { session, snapshot } : undefined;
}

interface LookUp extends PromiseWithResolvers<string | undefined> {
  readonly key: string;
}

/** Reads snapshots that are requested at the same time in one look-up: a state has some twenty. */
export class SnapshotReader {
  readonly #database: RowStore;
  #pending: LookUp[] = [];

  constructor(database: RowStore) {
    this.#database = database;
  }

  /** The stored snapshot, unless it is damaged or newer than the session. */
  async read(
    session: string,
    projection: string,
    revision = Number.POSITIVE_INFINITY,
  ): Promise<Snapshot | undefined> {
    const key = snapshotKey(session, projection);
    let row: string | undefined;
    try {
      row = await this.#row(key);
    } catch (error) {
      throw readFailure(error, session, 0);
    }
    const snapshot = row === undefined ? undefined : checkedSnapshot(key, row);
    return snapshot === undefined || snapshot.position > revision ? undefined : snapshot;
  }

  #row(key: string): Promise<string | undefined> {
    const lookUp: LookUp = { key, ...Promise.withResolvers<string | undefined>() };
    // The microtask runs after all simultaneous requests are made.
    if (this.#pending.length === 0) queueMicrotask(() => void this.#lookUp());
    this.#pending.push(lookUp);
    return lookUp.promise;
  }

  async #lookUp(): Promise<void> {
    const lookUps = this.#pending;
    this.#pending = [];
    try {
      const rows = await this.#database.getMany(lookUps.map(({ key }) => key));
      for (const [index, lookUp] of lookUps.entries()) lookUp.resolve(rows[index]);
    } catch (error) {
      for (const lookUp of lookUps) lookUp.reject(error);
    }
  }
}

function checkedSnapshot(key: string, row: string): Snapshot | undefined {
  const value = rowContent(key, row);
  return isSnapshot(value) ? value : undefined;
}
