/**
 * Stores large content of one session as blobs and returns the references that the event holds instead. Stored
 * blobs are held until the event is in the log, so that no collection deletes them.
 */

import { hash } from "node:crypto";
import { mediaMeasures } from "../context/index.ts";
import {
  blobReference,
  byId,
  referredBlob,
  TurnlogError,
  type BlobMeasures,
  type BlobStore,
  type EventBody,
  canonicalJson,
  type StoredUserContent,
  type StoredUserPart,
} from "../events/index.ts";
import type { BlobsState, KnownBlob } from "../projections/index.ts";
import { base64Of, base64Content, dataUrlContent } from "./file-data.ts";
import type { BlobQuota } from "./used-blobs.ts";
import { mediaTypeOf, UNKNOWN_TYPE, isTextual } from "./media-type.ts";

/** Limits of blobs. */
export interface BlobLimits {
  /** Content with fewer bytes stays in the event as base64. Default: 4,096. */
  readonly inlineBytes?: number;
  /** Most bytes of one blob. Default: 100 MB. */
  readonly maxBytes?: number;
  /** Most bytes of all blobs of a session. Default: 2 GB. */
  readonly maxSessionBytes?: number;
}

/** Measures of blobs for replays, whose messages and results hold references before the session has the blobs. */
export type RecordedBlobs = (sha256: string) => KnownBlob | undefined;

export const DEFAULT_INLINE_BYTES = 4096;
const DEFAULT_MAX_BYTES = 100_000_000;

const REFERENCES = /@blob:[0-9a-f]{64}/g;

export interface OffloadedContent {
  /** A reference, or base64 if the content stays in the event. */
  readonly data: string;
  readonly mediaType: string;
  /** Present with a reference. */
  readonly blob?: BlobMeasures;
}

export interface BlobOffloadOptions {
  readonly session: string;
  readonly store: BlobStore;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
  readonly known: () => BlobsState;
  readonly quota: BlobQuota;
}

export class BlobOffload implements Disposable {
  readonly #options: BlobOffloadOptions;
  /** Holds on stored blobs and claims on the quota. */
  readonly #held: Disposable[] = [];
  readonly #stored = new Map<string, EventBody<"blob.stored">>();

  constructor(options: BlobOffloadOptions) {
    this.#options = options;
  }

  /** Events to record before the event with the content. */
  get stored(): readonly EventBody<"blob.stored">[] {
    return [...this.#stored.values()];
  }

  /**
   * Stores content unless it is small and valid.
   * @throws TurnlogError `BLOB_TOO_LARGE`, and the errors of `BlobStore.put`
   */
  async offload(content: Uint8Array, declared: string | undefined): Promise<OffloadedContent> {
    const { store, quota, recorded, limits } = this.#options;
    const { inlineBytes = DEFAULT_INLINE_BYTES, maxBytes = DEFAULT_MAX_BYTES } = limits;
    const sha256 = hash("sha256", content);
    // A replay keeps content that stayed in its event when it was recorded.
    if (recorded !== undefined)
      return this.recall(blobReference(sha256)) ?? asItIs(content, declared ?? UNKNOWN_TYPE);
    if (content.byteLength > maxBytes) throw this.#refusal(content.byteLength, maxBytes);
    const mediaType = await this.#typeOf(content, declared, sha256);
    const blob = measured(content, mediaType);
    // Content that a model cannot be shown is always a blob, so that a note can name it.
    const isPlain = blob.fault === undefined && mediaType !== UNKNOWN_TYPE;
    if (isPlain && content.byteLength < inlineBytes) return asItIs(content, mediaType);
    this.#held.push(quota.claim(sha256, blob.bytes));
    this.#held.push(await store.put(content, { maxBytes }));
    if (!this.#has(sha256)) {
      this.#stored.set(sha256, { type: "blob.stored", data: { sha256, mediaType, ...blob } });
    }
    return { data: blobReference(sha256), mediaType, blob };
  }

  /** The content of a reference to a blob that the session has, or had when it was recorded. */
  recall(text: string): (OffloadedContent & { readonly blob: BlobMeasures }) | undefined {
    const sha256 = referredBlob(text);
    if (sha256 === undefined) return undefined;
    const { known, recorded } = this.#options;
    const stored = byId(known().stored, sha256);
    const found = stored ?? recorded?.(sha256);
    if (found === undefined) return undefined;
    if (stored === undefined)
      this.#stored.set(sha256, { type: "blob.stored", data: { sha256, ...found } });
    const { mediaType, ...blob } = found;
    return { data: text, mediaType, blob };
  }

  /** In a replay, recalls all references within a text. */
  recallAll(text: string): void {
    if (this.#options.recorded === undefined) return;
    for (const [reference] of text.matchAll(REFERENCES)) this.recall(reference);
  }

  /** Releases the blobs after the events were recorded or given up. */
  [Symbol.dispose](): void {
    for (const held of this.#held.splice(0)) held[Symbol.dispose]();
  }

  async #typeOf(
    content: Uint8Array,
    declared: string | undefined,
    sha256: string,
  ): Promise<string> {
    const found = await mediaTypeOf(content, declared);
    if (found !== UNKNOWN_TYPE) return found;
    // An earlier message may have declared the type of the same content.
    return byId(this.#options.known().stored, sha256)?.mediaType ?? found;
  }

  #has(sha256: string): boolean {
    return this.#stored.has(sha256) || Object.hasOwn(this.#options.known().stored, sha256);
  }

  #refusal(bytes: number, limit: number): TurnlogError {
    const { session } = this.#options;
    return new TurnlogError(
      "BLOB_TOO_LARGE",
      `Content of ${bytes} bytes is too large for session ${session}: one blob may have ${limit}. Nothing was recorded. Make it smaller; a program that opens the store may raise \`blobs: { maxBytes }\`.`,
      { session, details: { bytes, limit, of: "blob" } },
    );
  }
}

function asItIs(content: Uint8Array, mediaType: string): OffloadedContent {
  return { data: base64Of(content), mediaType };
}

/** Measures of content, with a fault if an image is incomplete. */
export function measured(content: Uint8Array, mediaType: string): BlobMeasures {
  const measures = mediaMeasures(content, mediaType);
  const fault = imageFault(content, mediaType, measures.width !== undefined);
  return fault === undefined ? measures : { ...measures, fault };
}

/** Undefined if no fault is known. A provider refuses every prompt with a truncated image. */
export function imageFault(
  content: Uint8Array,
  mediaType: string,
  hasSize: boolean,
): string | undefined {
  const ends = endings[mediaType];
  if (ends === undefined) return undefined;
  if (!hasSize) return "its header cannot be read";
  return ends(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
    ? undefined
    : "it ends before it is complete";
}

/** Programs may append data: the most bytes after the end of an image. */
const TRAILER = 65_536;

const endings: Readonly<Record<string, (content: Buffer) => boolean>> = {
  "image/png": (content) => {
    const end = content.indexOf("IEND", Math.max(0, content.length - TRAILER), "latin1");
    // The name of the chunk and its checksum.
    return end !== -1 && end + 8 <= content.length;
  },
  "image/jpeg": (content) =>
    content.includes(Buffer.from([0xff, 0xd9]), Math.max(0, content.length - TRAILER)),
  "image/webp": (content) => content.length >= 12 && content.readUInt32LE(4) + 8 <= content.length,
  // The end mark is one byte, which pixels may contain too.
  "image/gif": () => true,
};

// The identity of content as text, equal in any stored form: a file counts by digest, type and name.

export async function contentIdentity(content: StoredUserContent): Promise<string> {
  const parts: readonly StoredUserPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return canonicalJson(await Promise.all(parts.map(partIdentity)));
}

async function partIdentity(part: StoredUserPart): Promise<unknown> {
  if (part.type === "text") return part;
  const { blob: _measures, ...file } = part;
  const { data } = part;
  // A file at a provider, or a URL.
  if (typeof data !== "string") return file;
  const stored = referredBlob(data);
  if (stored !== undefined) return binary(file, stored);
  const found = dataUrlContent(data);
  const content = found?.content ?? base64Content(data);
  if (content === undefined) return file;
  const declared = found?.declared ?? part.mediaType;
  const digest = hash("sha256", content);
  return (await isTextual(content, declared)) ? { ...file, data: digest } : binary(file, digest);
}

/** Without the type: it follows from the bytes, which may be recorded more exactly than declared. */
function binary(
  { mediaType: _type, ...file }: { readonly mediaType: string },
  digest: string,
): object {
  return { ...file, data: digest };
}
