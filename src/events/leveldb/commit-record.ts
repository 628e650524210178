/**
 * A commit record tells which events a batch wrote, in which order over all sessions. `sums` seals
 * their rows, and each record names the seal of the one before it, so that a batch which is
 * dropped or altered breaks the chain.
 */

import { crc32 } from "node:zlib";
import { commitKey } from "./keys.ts";
import { seal, sealOf, unsealed } from "./sealed-row.ts";

/** Events of one session that follow each other directly in the global order. */
interface Run {
  readonly session: string;
  readonly from: number;
  readonly count: number;
}

export interface CommitRecord {
  /** The global position of its first event. */
  readonly position: number;
  readonly count: number;
  readonly runs: readonly Run[];
  /** Over the seals of its rows in global order. */
  readonly sums: number;
  /** The seal of the record before it. */
  readonly previous: string;
  /** Its own seal, which the next one names. */
  readonly seal: string;
}

/** A place in the chain: everything up to `position` is sealed by `seal`. */
export interface ChainMark {
  readonly position: number;
  readonly seal: string;
}

export const chainStart: ChainMark = { position: 0, seal: "0000000" };

/** Previous seal, sums, names and first positions of the sessions, pairs of session index and count. */
type Stored = readonly [
  previous: string,
  sums: number,
  sessions: readonly (readonly [session: string, from: number])[],
  runs: readonly number[],
];

/** By hand: after a kill all records since the last megabytes are read, and a schema costs more than the rest. */
function isStored(value: unknown): value is Stored {
  if (!Array.isArray(value) || value.length !== 4) return false;
  const fields: readonly unknown[] = value;
  const [previous, sums, sessions, runs] = fields;
  return (
    typeof previous === "string" &&
    isCount(sums) &&
    Array.isArray(sessions) &&
    sessions.every(isFirst) &&
    Array.isArray(runs) &&
    runs.every(isCount)
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isFirst(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const fields: readonly unknown[] = value;
  const [session, from] = fields;
  return typeof session === "string" && isCount(from) && from !== 0;
}

/** Collects the events of a batch into its record. */
export class CommitBuilder {
  /** The global position of the first event. */
  readonly position: number;
  #count = 0;
  #seals = "";
  readonly #sessions: [session: string, from: number][] = [];
  readonly #runs: number[] = [];

  constructor(position: number) {
    this.position = position;
  }

  get count(): number {
    return this.#count;
  }

  /** Names a session that the batch writes to for the first time; returns its index. */
  enter(session: string, from: number): number {
    return this.#sessions.push([session, from]) - 1;
  }

  /** Adds the events of a row by its seal. */
  add(session: number, events: number, sealed: string): void {
    this.#count += events;
    this.#seals += sealed;
    const runs = this.#runs;
    const last = runs.length - 1;
    if (runs[last - 1] === session) runs[last] = (runs[last] ?? 0) + events;
    else runs.push(session, events);
  }

  /** The record's key and row, and the chain's new end. */
  finish(previous: string): {
    readonly key: string;
    readonly row: string;
    readonly mark: ChainMark;
  } {
    const key = commitKey(this.position);
    const row = seal(key, [previous, crc32(this.#seals), this.#sessions, this.#runs]);
    return { key, row, mark: { position: this.position + this.#count - 1, seal: sealOf(row) } };
  }
}

/** The checksum over the seals of a commit's rows in global order. */
export function sumOf(seals: readonly string[]): number {
  return crc32(seals.join(""));
}

/** The record of a row; undefined when it is not what was written there. */
export function readCommit(position: number, row: string): CommitRecord | undefined {
  const stored = unsealed(commitKey(position), row);
  if (!isStored(stored)) return undefined;
  const [previous, sums, sessions, pairs] = stored;
  const next = sessions.map(([, from]) => from);
  const runs: Run[] = [];
  let count = 0;
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const index = pairs[at] ?? 0;
    const length = pairs[at + 1] ?? 0;
    const session = sessions[index]?.[0];
    const from = next[index];
    if (session === undefined || from === undefined) return undefined;
    runs.push({ session, from, count: length });
    next[index] = from + length;
    count += length;
  }
  return { position, count, runs, sums, previous, seal: sealOf(row) };
}
