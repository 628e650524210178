/**
 * All keys of the store. Numbers are base 36 with a fixed width, so that keys sort as numbers do.
 * A session id is one segment (`segmentOf`) without `/`, so the rows of a session are one range.
 *
 *   d/<session>               the tombstone of a deleted session
 *   e/<session>/<position>    an event; under a fork's name only those that the fork owns
 *   s/<session>               the session's index row
 *   i/<session>/<event id>    the positions of an event with an id
 *   n/<session>/<projection>  a snapshot; one over all sessions has an empty name
 *   c/<global position>       a commit record, by the global position of its first event
 *   m/…                       the store's own marks
 *   r/<name>                  the position of a consumer
 *   q/<session>/<position>    rows that a repair of an earlier release set aside
 *   x/<session>               deleted, and the bytes may still be in the files
 */

import { fromSegment, segmentOf, createCodec } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";

const WIDTH = 9;
const EVENT_KEY = /^e\/([A-Za-z0-9][A-Za-z0-9._:@=-]*)\/[0-9a-z]{9}$/;

export const formatKey = "m/format";
export const checkedKey = "m/checked";

/** Numbers up to 36⁹ ≈ 10¹⁴ sort as text. */
export function fixedWidth(value: number): string {
  return value.toString(36).padStart(WIDTH, "0");
}

export function numberOf(key: string): number {
  return Number.parseInt(key.slice(key.lastIndexOf("/") + 1), 36);
}

export function eventPrefix(session: string): string {
  return `e/${segmentOf(session)}/`;
}

export function eventKey(session: string, position: number): string {
  return eventPrefix(session) + fixedWidth(position);
}

export function sessionKey(session: string): string {
  return `s/${segmentOf(session)}`;
}

export function tombstoneKey(session: string): string {
  return `d/${segmentOf(session)}`;
}

export function erasureKey(session: string): string {
  return `x/${segmentOf(session)}`;
}

/** All key ranges of a session, except its index row. */
export function rangesOf(session: string): readonly string[] {
  return ["e", "i", "n", "q"].map((kind) => `${kind}/${segmentOf(session)}/`);
}

export function idKey(session: string, id: string): string {
  return `i/${segmentOf(session)}/${id}`;
}

export function snapshotKey(session: string, projection: string): string {
  return snapshotPrefix(session) + projection;
}

export function snapshotPrefix(session: string): string {
  return `n/${segmentOf(session)}/`;
}

export function cursorKey(name: string): string {
  return `r/${name}`;
}

export function commitKey(position: number): string {
  return `c/${fixedWidth(position)}`;
}

/** The session and position of an event's key; undefined for any other key. */
export function parseEventKey(
  key: string,
): { readonly session: string; readonly position: number } | undefined {
  const match = EVENT_KEY.exec(key);
  if (match?.[1] === undefined) return undefined;
  return { session: fromSegment(match[1]), position: numberOf(key) };
}

/** The session of any key that names one: the segment after the kind. */
export function sessionIn(key: string): string {
  const end = key.indexOf("/", 2);
  return fromSegment(end === -1 ? key.slice(2) : key.slice(2, end));
}

/** All keys that begin with a prefix which ends in `/`. */
export function under(prefix: string): { readonly gte: string; readonly lt: string } {
  return { gte: prefix, lt: `${prefix.slice(0, -1)}0` };
}

// The blobs that a row of the database names.

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
