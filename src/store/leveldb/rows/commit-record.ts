/**
 * A commit record names the events of a batch in global order. `sums` is a checksum over their rows; each
 * record contains the checksum of the one before, so a missing or altered batch breaks the chain. Records
 * of many small batches are merged later and keep the chain's ends.
 */

import { z } from "zod";
import { crc32 } from "node:zlib";
import { commitKey } from "./keys.ts";
import { withChecksum, checksumOf, rowContent } from "./row-checksum.ts";

interface Run {
  readonly session: string;
  readonly from: number;
  readonly count: number;
}

export interface CommitRecord {
  readonly position: number;
  readonly count: number;
  readonly runs: readonly Run[];
  /** The checksum over the checksums of its rows in global order. */
  readonly sums: number;
  readonly previous: string;
  /** The checksum that the next record names: its own, or that of the last record merged into it. */
  readonly seal: string;
}

/** A place in the chain: `seal` is the checksum of the record that ends at `position`. */
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
 * The previous checksum, the checksum of the rows, sessions with their first positions, pairs of
 * session index and count; of a merged record also the checksum of its last part.
 */
type Stored = readonly [
  previous: string,
  sums: number,
  sessions: readonly (readonly [session: string, from: number])[],
  runs: readonly number[],
  end?: string,
];

/** By hand: after a kill the records of several megabytes are read, and a schema costs more than the rest. */
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

export class CommitBuilder {
  readonly position: number;
  #count = 0;
  #checksums = "";
  readonly #sessions: [session: string, from: number][] = [];
  readonly #runs: number[] = [];

  constructor(position: number) {
    this.position = position;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a session that the batch writes to; returns its index. */
  enter(session: string, from: number): number {
    return this.#sessions.push([session, from]) - 1;
  }

  add(session: number, events: number, checksum: string): void {
    this.#count += events;
    this.#checksums += checksum;
    const runs = this.#runs;
    const last = runs.length - 1;
    if (runs[last - 1] === session) runs[last] = (runs[last] ?? 0) + events;
    else runs.push(session, events);
  }

  /** Adds the events of the next record. `known` maps sessions to their indexes in this record. */
  addAll(next: CommitBuilder, known: Map<string, number>): void {
    const indexes = next.#sessions.map(([session, from]) => {
      const index = known.get(session) ?? this.enter(session, from);
      known.set(session, index);
      return index;
    });
    for (let offset = 0; offset + 1 < next.#runs.length; offset += 2) {
      this.add(indexes[next.#runs[offset] ?? 0] ?? 0, next.#runs[offset + 1] ?? 0, "");
    }
    this.#checksums += next.#checksums;
  }

  /** The record's key and row, and the new end of the chain: its own checksum, or the given one. */
  finish(previous: string, end?: string): FinishedCommit {
    const key = commitKey(this.position);
    const stored: Stored = [previous, crc32(this.#checksums), this.#sessions, this.#runs];
    const row = withChecksum(key, end === undefined ? stored : [...stored, end]);
    const position = this.position + this.#count - 1;
    return { key, row, previous, mark: { position, seal: end ?? checksumOf(row) } };
  }
}

export interface FinishedCommit {
  readonly key: string;
  readonly row: string;
  readonly previous: string;
  readonly mark: ChainMark;
}

/** The checksum over the checksums of a commit's rows in global order. */
export function sumOfChecksums(checksums: readonly string[]): number {
  return crc32(checksums.join(""));
}

export function readCommit(position: number, row: string): CommitRecord | undefined {
  const stored = rowContent(commitKey(position), row);
  if (!isStored(stored)) return undefined;
  const [previous, sums, sessions, pairs, end = checksumOf(row)] = stored;
  const next = sessions.map(([, from]) => from);
  const runs: Run[] = [];
  let count = 0;
  for (let offset = 0; offset + 1 < pairs.length; offset += 2) {
    const index = pairs[offset] ?? 0;
    const length = pairs[offset + 1] ?? 0;
    const session = sessions[index]?.[0];
    const from = next[index];
    if (session === undefined || from === undefined) return undefined;
    runs.push({ session, from, count: length });
    next[index] = from + length;
    count += length;
  }
  return { position, count, runs, sums, previous, seal: end };
}
