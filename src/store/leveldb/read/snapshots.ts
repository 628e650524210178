/** Snapshots are a cache: one that cannot be read counts as none. */

import type { Snapshot } from "../../../events/index.ts";
import {
  type Database,
  readFailure,
  snapshotKey,
  withChecksum,
  rowContent,
} from "../rows/index.ts";

/** The row of a snapshot. */
export function snapshotRow(
  session: string,
  snapshot: Snapshot,
): { readonly key: string; readonly row: string } {
  const key = snapshotKey(session, snapshot.projection);
  return { key, row: withChecksum(key, snapshot) };
}

/** The snapshot in a row, with whose it is; undefined when it is not what was written there. */
export function snapshotIn(
  key: string,
  row: string,
): { readonly session: string; readonly snapshot: Snapshot } | undefined {
  const session = key.slice(2, key.indexOf("/", 2));
  const snapshot = checkedSnapshot(key, row);
  const fits = snapshot !== undefined && key === snapshotKey(session, snapshot.projection);
  return fits ? { session, snapshot } : undefined;
}

/** A look-up that is about to be made. */
interface Asked extends PromiseWithResolvers<string | undefined> {
  readonly key: string;
}

/** Looks up together what is asked for at the same time: a state lies in some twenty pieces. */
export class SnapshotReader {
  readonly #database: Database;
  #asked: Asked[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /** The stored snapshot, unless it is damaged or of events that the session does not have. */
  async read(session: string, projection: string, revision: number): Promise<Snapshot | undefined> {
    const key = snapshotKey(session, projection);
    let row: string | undefined;
    try {
      row = await this.#row(key);
    } catch (error) {
      throw readFailure(error, session, revision);
    }
    const snapshot = row === undefined ? undefined : checkedSnapshot(key, row);
    return snapshot === undefined || snapshot.position > revision ? undefined : snapshot;
  }

  #row(key: string): Promise<string | undefined> {
    const asked: Asked = { key, ...Promise.withResolvers<string | undefined>() };
    // Whoever asks at the same time has done so when this comes to its turn.
    if (this.#asked.length === 0) queueMicrotask(() => void this.#lookUp());
    this.#asked.push(asked);
    return asked.promise;
  }

  async #lookUp(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    try {
      const rows = await this.#database.getMany(asked.map(({ key }) => key));
      for (const [index, one] of asked.entries()) one.resolve(rows[index]);
    } catch (error) {
      for (const one of asked) one.reject(error);
    }
  }
}

function checkedSnapshot(key: string, row: string): Snapshot | undefined {
  const value = rowContent(key, row);
  return isSnapshot(value) ? value : undefined;
}

/** By hand: opening a session reads a handful, by code that runs for the first time. */
function isSnapshot(value: unknown): value is Snapshot {
  return (
    typeof value === "object" &&
    value !== null &&
    "projection" in value &&
    typeof value.projection === "string" &&
    "version" in value &&
    typeof value.version === "number" &&
    "position" in value &&
    Number.isSafeInteger(value.position) &&
    Number(value.position) >= 0 &&
    "state" in value &&
    value.state !== undefined
  );
}
