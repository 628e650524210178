/** The blobs that a row of the database names. */

import { createCodec } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { parseEventKey } from "./keys.ts";

export interface StoredBlob {
  readonly sha256: string;
  readonly session: string;
  readonly position: number;
}

const codec = createCodec();

/** @throws TurnlogError `LOG_DAMAGED`; `EVENT_TOO_NEW` for a row of a later release */
export function blobsIn(key: string, row: string): readonly StoredBlob[] {
  const place = row.includes('"blob.stored"') ? parseEventKey(key) : undefined;
  if (place === undefined) return [];
  return decodeRow(codec, row, place).flatMap(({ type, data, position }) =>
    type === "blob.stored" ? [{ sha256: data.sha256, session: place.session, position }] : [],
  );
}
