/**
 * Puts content of one session beside its log: looks what it is, measures it, stores it where it is
 * large, and says what the event has in its place. Holds what it stored until the event is in the log.
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
} from "../events/index.ts";
import type { BlobsState, KnownBlob } from "../projections/index.ts";
import { base64Of } from "./base64-text.ts";
import type { BlobQuota } from "./blob-quota.ts";
import { imageFault } from "./image-fault.ts";
import { mediaTypeOf, UNKNOWN_TYPE } from "./media-type.ts";

/** How much may lie beside a log, and what stays in it. */
export interface BlobLimits {
  /** Content below so many bytes stays in the event, as base64. Default 4,096. */
  readonly inlineBytes?: number;
  /** Bytes that one blob may have. Default 100 MB. */
  readonly maxBytes?: number;
  /** Bytes that all blobs of a session may have. Default 2 GB. */
  readonly maxSessionBytes?: number;
}

/**
 * What is known of blobs that content may refer to although its session does not have them yet: for a
 * replay, whose messages and answers hold references already. Nobody else may be given one.
 */
export type RecordedBlobs = (sha256: string) => KnownBlob | undefined;

export const DEFAULT_INLINE_BYTES = 4096;
const DEFAULT_MAX_BYTES = 100_000_000;

const REFERENCES = /@blob:[0-9a-f]{64}/g;

/** What an event has in the place of content. */
export interface OffloadedContent {
  /** A reference, or base64 where the content stays in the event. */
  readonly data: string;
  /** What it is. */
  readonly mediaType: string;
  /** Of a reference. */
  readonly blob?: BlobMeasures;
}

/** Who shelves, and what of it is known. */
export interface BlobOffloadOptions {
  readonly session: string;
  readonly store: BlobStore;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
  /** The blobs that the session has. */
  readonly known: () => BlobsState;
  readonly quota: BlobQuota;
}

export class BlobOffload implements Disposable {
  readonly #options: BlobOffloadOptions;
  /** What was stored, and the room for it. */
  readonly #held: Disposable[] = [];
  readonly #stored = new Map<string, EventBody<"blob.stored">>();

  constructor(options: BlobOffloadOptions) {
    this.#options = options;
  }

  /** What is to be recorded in front of the event that has the content. */
  get stored(): readonly EventBody<"blob.stored">[] {
    return [...this.#stored.values()];
  }

  /**
   * Stores content, unless it is small and sound.
   * @throws TurnlogError `BLOB_TOO_LARGE`, and what `BlobStore.put` throws
   */
  async offload(content: Uint8Array, declared: string | undefined): Promise<OffloadedContent> {
    const { store, quota: room, recorded, limits } = this.#options;
    const { inlineBytes = DEFAULT_INLINE_BYTES, maxBytes = DEFAULT_MAX_BYTES } = limits;
    // What is content in a recording stayed in its event, for whatever reason.
    if (recorded !== undefined) return asItIs(content, declared ?? UNKNOWN_TYPE);
    if (content.byteLength > maxBytes) throw this.#refusal(content.byteLength, maxBytes);
    const sha256 = hash("sha256", content);
    const mediaType = await this.#typeOf(content, declared, sha256);
    const blob = measured(content, mediaType);
    // What a model cannot be shown is a blob however small it is: it is named in its place.
    const isPlain = blob.fault === undefined && mediaType !== UNKNOWN_TYPE;
    if (isPlain && content.byteLength < inlineBytes) return asItIs(content, mediaType);
    this.#held.push(room.claim(sha256, blob.bytes));
    this.#held.push(await store.put(content, { maxBytes }));
    if (!this.#has(sha256)) {
      this.#stored.set(sha256, { type: "blob.stored", data: { sha256, mediaType, ...blob } });
    }
    return { data: blobReference(sha256), mediaType, blob };
  }

  /** What a reference stands for, where the session has its blob, or had it when it was recorded. */
  recall(text: string): (OffloadedContent & { readonly blob: BlobMeasures }) | undefined {
    const sha256 = referredBlob(text);
    if (sha256 === undefined) return undefined;
    const { known: have, recorded } = this.#options;
    const known = byId(have().stored, sha256);
    const found = known ?? recorded?.(sha256);
    if (found === undefined) return undefined;
    if (known === undefined)
      this.#stored.set(sha256, { type: "blob.stored", data: { sha256, ...found } });
    const { mediaType, ...blob } = found;
    return { data: text, mediaType, blob };
  }

  /** Recalls all references within a text, where what is said was recorded before. */
  recallAll(text: string): void {
    if (this.#options.recorded === undefined) return;
    for (const [reference] of text.matchAll(REFERENCES)) this.recall(reference);
  }

  /** The events are in the log, or will never be: collections may look at what was stored. */
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
    // Somebody may have said before what it is.
    return byId(this.#options.known().stored, sha256)?.mediaType ?? found;
  }

  #has(sha256: string): boolean {
    return this.#stored.has(sha256) || Object.hasOwn(this.#options.known().stored, sha256);
  }

  #refusal(bytes: number, limit: number): TurnlogError {
    const { session } = this.#options;
    return new TurnlogError(
      "BLOB_TOO_LARGE",
      `Content of ${bytes} bytes is too large for session ${session}: one blob may have ${limit}. Nothing was recorded. Make it smaller, or raise \`blobs: { maxBytes }\`.`,
      { session, details: { bytes, limit, of: "blob" } },
    );
  }
}

function asItIs(content: Uint8Array, mediaType: string): OffloadedContent {
  return { data: base64Of(content), mediaType };
}

export function measured(content: Uint8Array, mediaType: string): BlobMeasures {
  const measures = mediaMeasures(content, mediaType);
  const fault = imageFault(content, mediaType, measures.width !== undefined);
  return fault === undefined ? measures : { ...measures, fault };
}
