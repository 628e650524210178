/** Holds on blobs that no event refers to yet, so that no collection removes them. Shared by all blob stores. */

import type { HeldBlob } from "../../events/index.ts";

export interface BlobCollection extends Disposable {
  /** Runs a removal, unless the blob is held. A later put of the blob waits for it. */
  remove(sha256: string, removal: () => Promise<void>): Promise<boolean>;
}

export class BlobHolds {
  readonly #held = new Map<string, number>();
  readonly #leaving = new Map<string, Promise<void>>();
  /** For each collection under way, the blobs held since its start. */
  readonly #collections = new Set<Set<string>>();
  #copies = 0;

  /** Holds a blob, after a removal of it that is under way. */
  async hold({
    sha256,
    bytes,
  }: {
    readonly sha256: string;
    readonly bytes: number;
  }): Promise<HeldBlob> {
    const hold = this.holdNamed([sha256]);
    await this.afterRemoval(sha256);
    return {
      sha256,
      bytes,
      [Symbol.dispose]: () => {
        hold[Symbol.dispose]();
      },
    };
  }

  /** Holds blobs by digest, present or not. Does not wait for removals. */
  holdNamed(digests: Iterable<string>): Disposable {
    const held = [...new Set(digests)];
    for (const sha256 of held) {
      this.#held.set(sha256, (this.#held.get(sha256) ?? 0) + 1);
      for (const spared of this.#collections) spared.add(sha256);
    }
    return {
      [Symbol.dispose]: () => {
        for (const sha256 of held.splice(0)) {
          const rest = (this.#held.get(sha256) ?? 1) - 1;
          if (rest === 0) this.#held.delete(sha256);
          else this.#held.set(sha256, rest);
        }
      },
    };
  }

  async afterRemoval(sha256: string): Promise<void> {
    await this.#leaving.get(sha256);
  }

  /** Prevents all removals until it is disposed. */
  holdAll(): Disposable {
    this.#copies += 1;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#copies -= 1;
        isHeld = false;
      },
    };
  }

  /** Begins a collection. It spares every blob that is held now or later. */
  collection(): BlobCollection {
    const spared = new Set(this.#held.keys());
    this.#collections.add(spared);
    return {
      remove: async (sha256, removal) => {
        if (this.#copies > 0 || spared.has(sha256)) return false;
        // Of two collections at once, one removes the blob.
        if (this.#leaving.has(sha256)) return false;
        const leaving = Promise.withResolvers<void>();
        this.#leaving.set(sha256, leaving.promise);
        try {
          await removal();
          return true;
        } finally {
          this.#leaving.delete(sha256);
          leaving.resolve();
        }
      },
      [Symbol.dispose]: () => {
        this.#collections.delete(spared);
      },
    };
  }
}
