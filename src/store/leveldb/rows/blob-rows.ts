/** Which blobs the rows of a log bring along: for who copies or mends a store and opens no log of it. */

import { createCodec } from "../../../events/index.ts";
import { decodeRow } from "./event-row.ts";
import { parseEventKey } from "./keys.ts";

/** A blob, and the event that brought it. */
export interface StoredBlob {
  readonly sha256: string;
  readonly session: string;
  /** The position of the event `blob.stored`. */
  readonly position: number;
}

const codec = createCodec();

/** @throws TurnlogError `LOG_DAMAGED`, and `EVENT_TOO_NEW` for a row that a later release wrote */
export function blobsIn(key: string, row: string): readonly StoredBlob[] {
  const place = row.includes('"blob.stored"') ? parseEventKey(key) : undefined;
  if (place === undefined) return [];
  return decodeRow(codec, row, place).flatMap(({ type, data, position }) =>
    type === "blob.stored" ? [{ sha256: data.sha256, session: place.session, position }] : [],
  );
}
