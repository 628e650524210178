/**
 * What a power cut would leave of a folder, by what was done to it: bytes that were synced, under names
 * whose folders were synced since. Nothing is pretended: every call does what it does.
 */

import type * as Files from "node:fs/promises";
import { dirname, resolve } from "node:path";

type FileSystem = typeof Files;

export class PowerCut {
  /** Files whose bytes are not synced. */
  readonly #dirty = new Set<string>();
  /** Names that their folders have not been synced with. */
  readonly #unnamed = new Set<string>();
  /** Names that they have been synced with. */
  readonly #named = new Set<string>();

  /** Whether a file would be there, with its bytes, under its name. */
  spares(path: string): boolean {
    let name = resolve(path);
    if (this.#dirty.has(name)) return false;
    for (; dirname(name) !== name; name = dirname(name)) {
      if (this.#unnamed.has(name)) return false;
    }
    return true;
  }

  /** The calls that change something, watched. */
  watched(real: FileSystem): Pick<FileSystem, "mkdir" | "open" | "rename"> {
    const mkdir = async (path: string, options?: { readonly recursive: true }) => {
      const made = await real.mkdir(path, options);
      if (made === undefined) return made;
      for (let name = resolve(path); name !== dirname(made); name = dirname(name)) {
        this.#unnamed.add(name);
      }
      return made;
    };
    const rename = async (from: string, to: string) => {
      await real.rename(from, to);
      if (this.#dirty.delete(resolve(from))) this.#dirty.add(resolve(to));
      this.#unnamed.delete(resolve(from));
      // In the place of a name that is there to stay, there is one or the other whatever comes.
      if (!this.#named.has(resolve(to))) this.#unnamed.add(resolve(to));
    };
    const open = async (path: string, flags?: string) => {
      const file = await real.open(path, flags);
      const name = resolve(path);
      if (flags !== "r") this.#unnamed.add(name);
      const writeFile = file.writeFile.bind(file);
      const sync = file.sync.bind(file);
      return Object.assign(file, {
        writeFile: async (...given: Parameters<typeof writeFile>) => {
          this.#dirty.add(name);
          await writeFile(...given);
        },
        sync: async () => {
          await sync();
          this.#dirty.delete(name);
          for (const one of this.#unnamed) {
            if (dirname(one) !== name) continue;
            this.#unnamed.delete(one);
            this.#named.add(one);
          }
        },
      });
    };
    // The watched ones are called in one of the ways that the real ones can be.
    return { mkdir, rename, open } as unknown as FileSystem;
  }
}
