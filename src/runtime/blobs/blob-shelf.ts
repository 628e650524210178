/**
 * Puts content of one session beside its log: looks what it is, measures it, stores it where it is
 * large, and says what the event has in its place. Holds what it stored until the event is in the log.
 */

import { mediaMeasures } from "../../context/index.ts";
import {
  blobReference,
  byId,
  referredBlob,
  TurnlogError,
  type BlobMeasures,
  type BlobStore,
  type EventBody,
  type HeldBlob,
} from "../../events/index.ts";
import type { BlobsState, KnownBlob } from "../../projections/index.ts";
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
const DEFAULT_MAX_SESSION_BYTES = 2_000_000_000;

const REFERENCES = /@blob:[0-9a-f]{64}/g;

/** What an event has in the place of content. */
export interface ShelvedContent {
  /** A reference, or base64 where the content stays in the event. */
  readonly data: string;
  /** What it is. */
  readonly mediaType: string;
  /** Of a reference. */
  readonly blob?: BlobMeasures;
}

export class BlobShelf implements Disposable {
  readonly #store: BlobStore;
  readonly #limits: Required<BlobLimits>;
  readonly #recorded: RecordedBlobs | undefined;
  readonly #session: string;
  readonly #known: BlobsState;
  readonly #held: HeldBlob[] = [];
  readonly #stored = new Map<string, EventBody<"blob.stored">>();
  /** Bytes that are new to the session. */
  #added = 0;

  /** @param known - The blobs that the session has. */
  constructor(
    session: string,
    store: BlobStore,
    { recorded, ...limits }: BlobLimits & { readonly recorded?: RecordedBlobs | undefined },
    known: BlobsState,
  ) {
    this.#recorded = recorded;
    this.#session = session;
    this.#store = store;
    this.#known = known;
    this.#limits = {
      inlineBytes: limits.inlineBytes ?? DEFAULT_INLINE_BYTES,
      maxBytes: limits.maxBytes ?? DEFAULT_MAX_BYTES,
      maxSessionBytes: limits.maxSessionBytes ?? DEFAULT_MAX_SESSION_BYTES,
    };
  }

  /** What is to be recorded in front of the event that has the content. */
  get stored(): readonly EventBody<"blob.stored">[] {
    return [...this.#stored.values()];
  }

  /**
   * Stores content, unless it is small and sound.
   * @throws TurnlogError `BLOB_TOO_LARGE`, and what `BlobStore.put` throws
   */
  async shelve(content: Uint8Array, declared: string | undefined): Promise<ShelvedContent> {
    const { inlineBytes, maxBytes } = this.#limits;
    // What is content in a recording stayed in its event, for whatever reason.
    if (this.#recorded !== undefined) return asItIs(content, declared ?? UNKNOWN_TYPE);
    if (content.byteLength > maxBytes) throw this.#refusal(content.byteLength, maxBytes, "blob");
    const mediaType = await mediaTypeOf(content, declared);
    const blob = measured(content, mediaType);
    // What a model cannot be shown is a blob however small it is: it is named in its place.
    const isPlain = blob.fault === undefined && mediaType !== UNKNOWN_TYPE;
    if (isPlain && content.byteLength < inlineBytes) return asItIs(content, mediaType);
    const held = await this.#store.put(content, { maxBytes });
    this.#held.push(held);
    const { sha256 } = held;
    if (!Object.hasOwn(this.#known.stored, sha256) && !this.#stored.has(sha256)) {
      const { maxSessionBytes } = this.#limits;
      const whole = this.#known.bytes + this.#added + blob.bytes;
      if (whole > maxSessionBytes) throw this.#refusal(whole, maxSessionBytes, "session");
      this.#added += blob.bytes;
      this.#stored.set(sha256, { type: "blob.stored", data: { sha256, mediaType, ...blob } });
    }
    return { data: blobReference(sha256), mediaType, blob };
  }

  /** What a reference stands for, where the session has its blob, or had it when it was recorded. */
  recall(text: string): (ShelvedContent & { readonly blob: BlobMeasures }) | undefined {
    const sha256 = referredBlob(text);
    if (sha256 === undefined) return undefined;
    const known = byId(this.#known.stored, sha256);
    const found = known ?? this.#recorded?.(sha256);
    if (found === undefined) return undefined;
    if (known === undefined)
      this.#stored.set(sha256, { type: "blob.stored", data: { sha256, ...found } });
    const { mediaType, ...blob } = found;
    return { data: text, mediaType, blob };
  }

  /** Recalls all references within a text, where what is said was recorded before. */
  recallAll(text: string): void {
    if (this.#recorded === undefined) return;
    for (const [reference] of text.matchAll(REFERENCES)) this.recall(reference);
  }

  /** The events are in the log, or will never be: collections may look at what was stored. */
  [Symbol.dispose](): void {
    for (const held of this.#held.splice(0)) held[Symbol.dispose]();
  }

  #refusal(bytes: number, limit: number, of: "blob" | "session"): TurnlogError {
    const what =
      of === "blob"
        ? `Content of ${bytes} bytes is too large for session ${this.#session}: one blob may have ${limit}`
        : `Session ${this.#session} would have ${bytes} bytes of blobs, and may have ${limit}`;
    const option = of === "blob" ? "maxBytes" : "maxSessionBytes";
    return new TurnlogError(
      "BLOB_TOO_LARGE",
      `${what}. Nothing was recorded. Make it smaller, or raise \`blobs: { ${option} }\`.`,
      { session: this.#session, details: { bytes, limit, of } },
    );
  }
}

function asItIs(content: Uint8Array, mediaType: string): ShelvedContent {
  const { buffer, byteOffset, byteLength } = content;
  return { data: Buffer.from(buffer, byteOffset, byteLength).toString("base64"), mediaType };
}

export function measured(content: Uint8Array, mediaType: string): BlobMeasures {
  const measures = mediaMeasures(content, mediaType);
  const fault = imageFault(content, mediaType, measures.width !== undefined);
  return fault === undefined ? measures : { ...measures, fault };
}
