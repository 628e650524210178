/** Records by ids from outside, such as "__proto__". Adding to a {@link ChunkedRecord} copies one chunk only. Without zod, since pages fold. */

/** Chunks, oldest first. Each id is in one chunk only. */
export type ChunkedRecord<Value> = readonly Readonly<Record<string, Value>>[];

const CHUNK = 64;

export function entryOf<Value>(chunks: ChunkedRecord<Value>, id: string): Value | undefined {
  for (let index = chunks.length - 1; index >= 0; index--) {
    const found = byId(chunks[index] ?? {}, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

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

export function entriesOf<Value>(
  chunks: ChunkedRecord<Value>,
): readonly (readonly [id: string, value: Value])[] {
  return chunks.flatMap((chunk) => Object.entries(chunk));
}

/** The value under an id. Inherited properties do not count. */
export function byId<Value>(
  record: Readonly<Record<string, Value>>,
  id: string,
): Value | undefined {
  return Object.hasOwn(record, id) ? record[id] : undefined;
}
