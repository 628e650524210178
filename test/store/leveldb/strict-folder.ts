/**
 * What a power cut would leave of a folder on a strict file system: each name that was made, replaced or
 * deleted since its folder was synced may be there as it was or as it is. Bytes of files are kept.
 */

import { cpSync, existsSync, linkSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** What a folder held when it was synced: files by a link that keeps them, folders by nothing. */
type Synced = ReadonlyMap<string, { readonly ino: bigint; readonly kept: string | undefined }>;

export class StrictFolder {
  readonly #root: string;
  readonly #shelf: string;
  readonly #synced = new Map<bigint, Synced>();
  #kept = 0;

  /** @param shelf - A folder on the same file system, for what is deleted. */
  constructor(root: string, shelf: string) {
    this.#root = root;
    this.#shelf = shelf;
    mkdirSync(shelf);
  }

  synced(folder: string): void {
    if (!folder.startsWith(this.#root)) return;
    const entries = readdirSync(folder, { withFileTypes: true }).filter(
      (entry) => entry.isFile() || entry.isDirectory(),
    );
    const held = new Map<string, { readonly ino: bigint; readonly kept: string | undefined }>();
    for (const entry of entries) {
      const path = join(folder, entry.name);
      const kept = entry.isFile() ? join(this.#shelf, String(this.#kept++)) : undefined;
      if (kept !== undefined) linkSync(path, kept);
      held.set(entry.name, { ino: inodeOf(path), kept });
    }
    this.#synced.set(inodeOf(folder), held);
  }

  /** One of the states that a cut now may leave, in a new folder. */
  cut(to: string, random: () => number): void {
    this.#cut(this.#root, to, random);
  }

  #cut(folder: string, to: string, random: () => number): void {
    mkdirSync(to, { recursive: true });
    const before: Synced = this.#synced.get(inodeOf(folder)) ?? new Map();
    const names = new Set([...before.keys(), ...readdirSync(folder)]);
    for (const name of names) {
      const path = join(folder, name);
      const was = before.get(name);
      const isThere = existsSync(path);
      const isSame = isThere && was?.ino === inodeOf(path);
      const isKept = isSame || random() < 0.5;
      if (isThere && isKept) {
        const status = statSync(path);
        if (status.isDirectory()) this.#cut(path, join(to, name), random);
        else if (status.isFile()) cpSync(path, join(to, name));
      } else if (!isKept && was?.kept !== undefined) cpSync(was.kept, join(to, name));
    }
  }
}

function inodeOf(path: string): bigint {
  return statSync(path, { bigint: true }).ino;
}
