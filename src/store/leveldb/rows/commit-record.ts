/**
 * A commit record tells which events a batch wrote, in which order over all sessions. `sums` seals
 * their rows, and each record names the seal of the one before it, so that a batch which is
 * dropped or altered breaks the chain. Records of many small batches are merged later: the merged
 * one stands in the chain where they stood.
 */

import { z } from "zod";
import { crc32 } from "node:zlib";
import { commitKey } from "./keys.ts";
import { withChecksum, checksumOf, rowContent } from "./row-checksum.ts";

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
  /** The seal that the next one names: its own, or that of the last record that was merged into it. */
  readonly seal: string;
}

/** A place in the chain: everything up to `position` is sealed by `seal`. */
export interface ChainMark {
  readonly position: number;
  readonly seal: string;
}

export const markSchema: z.ZodType<ChainMark> = z.object({
  position: z.int().nonnegative(),
  seal: z.string(),
});

export const chainStart: ChainMark = { position: 0, seal: "0000000" };

/**
 * Previous seal, sums, names and first positions of the sessions, pairs of session index and count;
 * of a merged record also the seal of the last one of those that it stands for.
 */
type Stored = readonly [
  previous: string,
  sums: number,
  sessions: readonly (readonly [session: string, from: number])[],
  runs: readonly number[],
  end?: string,
];

/** By hand: after a kill all records since the last megabytes are read, and a schema costs more than the rest. */
function isStored(value: unknown): value is Stored {
  if (!Array.isArray(value) || value.length < 4 || value.length > 5) return false;
  const fields: readonly unknown[] = value;
  const [previous, sums, sessions, runs, end] = fields;
  return (
    typeof previous === "string" &&
    isCount(sums) &&
    Array.isArray(sessions) &&
    sessions.every(isFirst) &&
    Array.isArray(runs) &&
    runs.every(isCount) &&
    (end === undefined || typeof end === "string")
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

  /** Adds the events of a record that follows this one; `known` are the indexes of sessions in this one. */
  addAll(next: CommitBuilder, known: Map<string, number>): void {
    const indexes = next.#sessions.map(([session, from]) => {
      const index = known.get(session) ?? this.enter(session, from);
      known.set(session, index);
      return index;
    });
    for (let at = 0; at + 1 < next.#runs.length; at += 2) {
      this.add(indexes[next.#runs[at] ?? 0] ?? 0, next.#runs[at + 1] ?? 0, "");
    }
    this.#seals += next.#seals;
  }

  /** The record's key and row, and the chain's new end: its own seal, or the one that it is to have. */
  finish(previous: string, end?: string): FinishedCommit {
    const key = commitKey(this.position);
    const stored: Stored = [previous, crc32(this.#seals), this.#sessions, this.#runs];
    const row = withChecksum(key, end === undefined ? stored : [...stored, end]);
    const position = this.position + this.#count - 1;
    return { key, row, previous, mark: { position, seal: end ?? checksumOf(row) } };
  }
}

/** A record as it is to be written. */
export interface FinishedCommit {
  readonly key: string;
  readonly row: string;
  readonly previous: string;
  readonly mark: ChainMark;
}

/** The checksum over the seals of a commit's rows in global order. */
export function sumOf(seals: readonly string[]): number {
  return crc32(seals.join(""));
}

/** The record of a row; undefined when it is not what was written there. */
export function readCommit(position: number, row: string): CommitRecord | undefined {
  const stored = rowContent(commitKey(position), row);
  if (!isStored(stored)) return undefined;
  const [previous, sums, sessions, pairs, end = checksumOf(row)] = stored;
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
  return { position, count, runs, sums, previous, seal: end };
}
