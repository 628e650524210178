/**
 * Who still needs a blob that no event refers to yet. Keeps puts and collections of one process apart;
 * of two processes only one has a store. Used by every implementation, which asks before it removes.
 */

import type { HeldBlob } from "../../events/index.ts";

/** What a collection must leave alone, whatever the log says. */
export interface Spared extends Disposable {
  /** Runs the removal of a blob, unless it is needed; a put of the same blob waits for it. */
  remove(sha256: string, removal: () => Promise<void>): Promise<boolean>;
}

export class BlobHolds {
  /** How many hold each blob. */
  readonly #held = new Map<string, number>();
  /** Removals under way. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Of each collection under way, what was held since it began. */
  readonly #collections = new Set<Set<string>>();
  #copies = 0;

  /** Holds a blob, once a removal of it that is under way is over. */
  async hold({
    sha256,
    bytes,
  }: {
    readonly sha256: string;
    readonly bytes: number;
  }): Promise<HeldBlob> {
    const hold = this.named([sha256]);
    await this.removalOf(sha256);
    return {
      sha256,
      bytes,
      [Symbol.dispose]: () => {
        hold[Symbol.dispose]();
      },
    };
  }

  /** Holds blobs by name, whether they are there or not; a removal that is under way goes on. */
  named(digests: Iterable<string>): Disposable {
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

  /** Resolves when a removal that is under way is over. */
  async removalOf(sha256: string): Promise<void> {
    await this.#leaving.get(sha256);
  }

  /** As long as it lasts, nothing is removed. */
  all(): Disposable {
    this.#copies += 1;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#copies -= 1;
        isHeld = false;
      },
    };
  }

  /** Begins a collection: what is held now or from now on is spared by it. */
  collection(): Spared {
    const spared = new Set(this.#held.keys());
    this.#collections.add(spared);
    return {
      remove: async (sha256, removal) => {
        if (this.#copies > 0 || spared.has(sha256)) return false;
        // Of two collections at once, one removes it.
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
