/**
 * Limits the bytes of a session's blobs. Messages, tool results and replies store blobs concurrently: each
 * claims its bytes first.
 */

import { TurnlogError, type EventBody } from "../events/index.ts";
import type { BlobsState } from "../projections/index.ts";

const DEFAULT_MAX_SESSION_BYTES = 2_000_000_000;

interface Claim {
  readonly bytes: number;
  count: number;
}

export class BlobQuota {
  readonly #session: string;
  readonly #known: () => BlobsState;
  readonly #limit: number;
  readonly #claims = new Map<string, Claim>();

  constructor(
    session: string,
    known: () => BlobsState,
    maxSessionBytes: number = DEFAULT_MAX_SESSION_BYTES,
  ) {
    this.#session = session;
    this.#known = known;
    this.#limit = maxSessionBytes;
  }

  /** Until the claim is disposed of. A blob of the session costs nothing. @throws TurnlogError `BLOB_TOO_LARGE` */
  claim(sha256: string, bytes: number): Disposable {
    const claim = this.#claims.get(sha256) ?? { bytes, count: 0 };
    if (claim.count === 0) this.#assertWithin([[sha256, bytes]]);
    claim.count += 1;
    this.#claims.set(sha256, claim);
    let isClaimed = true;
    return {
      [Symbol.dispose]: () => {
        if (!isClaimed) return;
        isClaimed = false;
        claim.count -= 1;
        if (claim.count === 0) this.#claims.delete(sha256);
      },
    };
  }

  /** For blobs that an earlier actor of the session claimed. @throws TurnlogError `BLOB_TOO_LARGE` */
  assertWithin(stored: readonly EventBody<"blob.stored">[]): void {
    this.#assertWithin(stored.map(({ data: { sha256, bytes } }) => [sha256, bytes]));
  }

  #assertWithin(more: readonly (readonly [sha256: string, bytes: number])[]): void {
    const { stored, bytes: storedBytes } = this.#known();
    const pending = new Map(more);
    for (const [sha256, { bytes }] of this.#claims) pending.set(sha256, bytes);
    let total = storedBytes;
    let hasNew = false;
    for (const [sha256, bytes] of pending) {
      if (Object.hasOwn(stored, sha256)) continue;
      total += bytes;
      hasNew ||= more.some(([added]) => added === sha256);
    }
    if (hasNew && total > this.#limit) throw this.#refusal(total);
  }

  #refusal(bytes: number): TurnlogError {
    const limit = this.#limit;
    return new TurnlogError(
      "BLOB_TOO_LARGE",
      `Session ${this.#session} would have ${bytes} bytes of blobs, and may have ${limit}. Nothing was recorded. Make it smaller, or raise \`blobs: { maxSessionBytes }\`.`,
      { session: this.#session, details: { bytes, limit, of: "session" } },
    );
  }
}
