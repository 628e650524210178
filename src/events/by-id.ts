/**
 * A record by id that grows by one entry at a time, in chunks: an entry costs a copy of its chunk, and
 * not of all that came before. Earlier states stay as they were. Plain JSON.
 */

import { z } from "zod";

/** Oldest first; an id is in one of them. */
export type ChunkedRecord<Value> = readonly Readonly<Record<string, Value>>[];

/** Entries of a chunk. */
const CHUNK = 256;

/** The schema of a chunked record, as stored states have it. */
export function chunkedSchema<Value>(value: z.ZodType<Value>): z.ZodType<ChunkedRecord<Value>> {
  return z.array(byIdSchema(value));
}

/** What is there under an id. */
export function entryOf<Value>(chunks: ChunkedRecord<Value>, id: string): Value | undefined {
  for (let index = chunks.length - 1; index >= 0; index--) {
    const found = byId(chunks[index] ?? {}, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** With an entry, in the place of the one that has its id. */
export function withEntry<Value>(
  chunks: ChunkedRecord<Value>,
  id: string,
  value: Value,
): ChunkedRecord<Value> {
  const known = chunks.findLastIndex((chunk) => Object.hasOwn(chunk, id));
  const last = chunks.length - 1;
  const hasRoom = last >= 0 && Object.keys(chunks[last] ?? {}).length < CHUNK;
  const place = known === -1 && hasRoom ? last : known;
  if (place === -1) return [...chunks, Object.fromEntries([[id, value]])];
  return chunks.with(place, { ...chunks[place], [id]: value });
}

/** Without the entries of some ids. */
export function withoutEntries<Value>(
  chunks: ChunkedRecord<Value>,
  ids: readonly string[],
): ChunkedRecord<Value> {
  const gone = new Set(ids);
  return chunks.flatMap((chunk) => {
    const kept = Object.entries(chunk).filter(([id]) => !gone.has(id));
    return kept.length === 0 ? [] : [Object.fromEntries(kept)];
  });
}

/** All entries, oldest first. */
export function entriesOf<Value>(
  chunks: ChunkedRecord<Value>,
): readonly (readonly [id: string, value: Value])[] {
  return chunks.flatMap((chunk) => Object.entries(chunk));
}

/** What a record holds under an id. What every object has by birth is not in it. */
export function byId<Value>(
  record: Readonly<Record<string, Value>>,
  id: string,
): Value | undefined {
  return Object.hasOwn(record, id) ? record[id] : undefined;
}

/** The schema of such a record: `z.record` would lose the id "__proto__". */
export function byIdSchema<Value>(
  value: z.ZodType<Value>,
): z.ZodType<Readonly<Record<string, Value>>> {
  return z.preprocess(
    (record) =>
      typeof record === "object" && record !== null ? Object.entries(record) : undefined,
    z
      .array(z.tuple([z.string(), value]))
      .transform((entries): Readonly<Record<string, Value>> => Object.fromEntries(entries)),
  );
}
