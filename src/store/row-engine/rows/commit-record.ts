/**
 * A commit record names the events of a batch in global order. `sums` is a checksum over their rows; each
 * record contains the checksum of the one before, so a missing or altered batch breaks the chain. Records
 * of many small batches are merged later and keep the chain's ends.
 */

import { z } from "zod";
import { crc32 } from "node:zlib";
import {
  type JsonObject,
  CHECKSUM_LENGTH,
  ownJson,
  seededChecksum,
} from "../../../events/index.ts";
import { checkedKey, commitKey } from "./keys.ts";

/** Events of one session that follow each other in the global order. */
interface CommittedRange {
  readonly session: string;
  readonly from: number;
  readonly count: number;
}

export interface CommitRecord {
  readonly position: number;
  readonly count: number;
  readonly ranges: readonly CommittedRange[];
  /** The checksum over the checksums of its rows in global order. */
  readonly sums: number;
  readonly previous: string;
  /** The checksum that the next record names: its own, or that of the last record merged into it. */
  readonly checksum: string;
}

/** A mark in the chain: `checksum` is that of the record that ends at `position`. */
export interface ChainMark {
  readonly position: number;
  readonly checksum: string;
}

/** Reads a stored mark, which calls the checksum a seal. */
export const markSchema: z.ZodType<ChainMark> = z
  .object({ position: z.int().nonnegative(), seal: z.string() })
  .transform(({ position, seal }) => ({ position, checksum: seal }));

export function storedMark({ position, checksum }: ChainMark): JsonObject {
  return { position, seal: checksum };
}

/** The row of the mark from which the next opening checks the chain. */
export function checkedMarkRow(mark: ChainMark): readonly [key: string, row: string] {
  return [checkedKey, withChecksum(checkedKey, storedMark(mark))];
}

export const chainStart: ChainMark = { position: 0, checksum: "0000000" };

/**
 * The previous checksum, the checksum of the rows, sessions with their first positions, pairs of
 * session index and count; of a merged record also the checksum of its last part.
 */
type Stored = readonly [
  previous: string,
  sums: number,
  sessions: readonly (readonly [session: string, from: number])[],
  ranges: readonly number[],
  end?: string,
];

/** By hand: after a kill the records of several megabytes are read, and a schema costs more than the rest. */
function isStored(value: unknown): value is Stored {
  if (!Array.isArray(value) || value.length < 4 || value.length > 5) return false;
  const fields: readonly unknown[] = value;
  const [previous, sums, sessions, ranges, end] = fields;
  return (
    typeof previous === "string" &&
    isCount(sums) &&
    Array.isArray(sessions) &&
    sessions.every(isFirst) &&
    Array.isArray(ranges) &&
    ranges.every(isCount) &&
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
  /** The global position of the first event. */
  position: number;
  #count = 0;
  #checksums = "";
  readonly #sessions: [session: string, from: number][] = [];
  /** Pairs of session index and count. */
  readonly #ranges: number[] = [];

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
    const ranges = this.#ranges;
    const last = ranges.length - 1;
    if (ranges[last - 1] === session) ranges[last] = (ranges[last] ?? 0) + events;
    else ranges.push(session, events);
  }

  /** Adds the events of the next record. `known` maps sessions to their indexes in this record. */
  addAll(next: CommitBuilder, known: Map<string, number>): void {
    const indexes = next.#sessions.map(([session, from]) => {
      const index = known.get(session) ?? this.enter(session, from);
      known.set(session, index);
      return index;
    });
    for (let offset = 0; offset + 1 < next.#ranges.length; offset += 2) {
      this.add(indexes[next.#ranges[offset] ?? 0] ?? 0, next.#ranges[offset + 1] ?? 0, "");
    }
    this.#checksums += next.#checksums;
  }

  /** The record's key and row, and the new end of the chain: its own checksum, or the given one. */
  finish(previous: string, end?: string): FinishedCommit {
    const key = commitKey(this.position);
    const stored: Stored = [previous, crc32(this.#checksums), this.#sessions, this.#ranges];
    const row = withChecksum(key, end === undefined ? stored : [...stored, end]);
    const position = this.position + this.#count - 1;
    return { key, row, previous, mark: { position, checksum: end ?? checksumOf(row) } };
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
  const ranges: CommittedRange[] = [];
  let count = 0;
  for (let offset = 0; offset + 1 < pairs.length; offset += 2) {
    const index = pairs[offset] ?? 0;
    const length = pairs[offset + 1] ?? 0;
    const session = sessions[index]?.[0];
    const from = next[index];
    if (session === undefined || from === undefined) return undefined;
    ranges.push({ session, from, count: length });
    next[index] = from + length;
    count += length;
  }
  return { position, count, ranges, sums, previous, checksum: end };
}

// Every row begins with a checksum. Event rows have the codec's; other rows have one over key and
// JSON, so that reading finds a flipped bit and a row under a wrong key.

export function checksumOf(row: string): string {
  return row.slice(0, CHECKSUM_LENGTH);
}

export function withChecksum(key: string, value: unknown): string {
  const json = JSON.stringify(value);
  return seededChecksum(json, crc32(key)) + json;
}

export function checkedRow<Value>(
  key: string,
  row: string,
  schema: z.ZodType<Value>,
): Value | undefined {
  // Each schema reads few rows in a process: compiling it would take longer than parsing them.
  return schema.safeParse(rowContent(key, row), { jitless: true }).data;
}

/** The JSON value of a row of unknown form; undefined if the row is damaged. */
export function rowContent(key: string, row: string): unknown {
  const json = row.slice(CHECKSUM_LENGTH);
  return checksumOf(row) === seededChecksum(json, crc32(key)) ? ownJson(row) : undefined;
}

/** The row of an event id: where the event is. */
export const positionsSchema: z.ZodType<readonly [position: number, globalPosition: number]> =
  z.tuple([z.int().positive(), z.int().positive()]);
