/**
 * How many bytes of blobs a session may still have. Messages, answers and replies come to it at once:
 * each claims what it is about to bring before it is stored, so that together they stay within the limit.
 */

import { TurnlogError, type EventBody } from "../events/index.ts";
import type { BlobsState } from "../projections/index.ts";

/** Bytes that a session may have where nobody says. */
const DEFAULT_MAX_SESSION_BYTES = 2_000_000_000;

interface Claim {
  readonly bytes: number;
  /** How many are about to bring it. */
  count: number;
}

export class BlobQuota {
  readonly #session: string;
  readonly #known: () => BlobsState;
  readonly #limit: number;
  readonly #claims = new Map<string, Claim>();

  /** @param known - The blobs that the session has when it is asked. */
  constructor(
    session: string,
    known: () => BlobsState,
    maxSessionBytes: number = DEFAULT_MAX_SESSION_BYTES,
  ) {
    this.#session = session;
    this.#known = known;
    this.#limit = maxSessionBytes;
  }

  /**
   * Keeps room for a blob until it is recorded, or never will be. What the session has takes none.
   * @throws TurnlogError `BLOB_TOO_LARGE`
   */
  claim(sha256: string, bytes: number): Disposable {
    const claim = this.#claims.get(sha256) ?? { bytes, count: 0 };
    if (claim.count === 0) this.#assertRoom([[sha256, bytes]]);
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

  /**
   * Room for what was claimed of another actor of the session: it was put away meanwhile.
   * @throws TurnlogError `BLOB_TOO_LARGE`
   */
  assertRoomFor(stored: readonly EventBody<"blob.stored">[]): void {
    this.#assertRoom(stored.map(({ data: { sha256, bytes } }) => [sha256, bytes]));
  }

  #assertRoom(more: readonly (readonly [sha256: string, bytes: number])[]): void {
    const { stored, bytes: had } = this.#known();
    const coming = new Map(more);
    for (const [sha256, { bytes }] of this.#claims) coming.set(sha256, bytes);
    let whole = had;
    let isMore = false;
    for (const [sha256, bytes] of coming) {
      if (Object.hasOwn(stored, sha256)) continue;
      whole += bytes;
      isMore ||= more.some(([asked]) => asked === sha256);
    }
    if (isMore && whole > this.#limit) throw this.#refusal(whole);
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
