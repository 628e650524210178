/** Whether the blobs of a session are there, with the bytes that were stored. Reads them; changes nothing. */

import { TurnlogError, type BlobStore, type SessionEvent } from "../../events/index.ts";
import type { Finding } from "./inspection.ts";

/** What is wrong with the blob of an event, where it has one. */
export async function blobFindings(
  { type, data, position }: SessionEvent,
  blobs: BlobStore | undefined,
): Promise<readonly Finding[]> {
  if (type !== "blob.stored" || blobs === undefined) return [];
  const rule = "blobs";
  try {
    let bytes = 0;
    for await (const chunk of blobs.get(data.sha256)) bytes += chunk.byteLength;
    if (bytes === data.bytes) return [];
    const what = `blob ${data.sha256} has ${bytes} bytes, and the event says ${data.bytes}`;
    return [{ position, rule, what }];
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return [{ position, rule, what: error.message }];
  }
}
