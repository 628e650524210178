/**
 * Notices that the folder of an open store was removed or replaced. LevelDB would go on writing to files that
 * no name leads to.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { TurnlogError } from "../../../events/index.ts";
import type { ReachedFile } from "./reached-file.ts";
import { namesIn, type StorePaths } from "./store-paths.ts";

/** Milliseconds. Whether the folder is the same is asked before each write, and seen to its files now and then. */
const INTERVAL = 1000;

interface HeldFile {
  readonly path: string;
  readonly inode: bigint | undefined;
}

export class FolderWatch {
  readonly #paths: StorePaths;
  /**
   * Files that this process holds open, so that no other file gets their inodes. Folders are removed and made
   * again under the same inode.
   */
  readonly #reached: HeldFile;
  readonly #lock: HeldFile;
  #looked = performance.now();

  /** The log is open. */
  constructor(paths: StorePaths, reached: ReachedFile) {
    const lock = join(paths.log, "LOCK");
    this.#paths = paths;
    this.#reached = { path: paths.reached, inode: reached.inode };
    this.#lock = { path: lock, inode: inodeOf(lock) };
  }

  /** @throws TurnlogError `LOG_FAILED`, for files of LevelDB at the latest a second after they are gone */
  readonly assertInPlace = (): void => {
    const now = performance.now();
    if (now - this.#looked >= INTERVAL) {
      if (!this.isInPlace()) throw this.failure();
      this.#looked = now;
    } else if (!isAt(this.#reached)) throw this.failure();
  };

  isInPlace(): boolean {
    if (!isAt(this.#reached) || !isAt(this.#lock)) return false;
    const names = namesIn(this.#paths.log);
    return names.includes("CURRENT") && names.some((name) => name.endsWith(".log"));
  }

  failure(): TurnlogError {
    const { dir } = this.#paths;
    return new TurnlogError(
      "LOG_FAILED",
      `The folder of the store, ${dir}, or files in it have been removed or replaced while the store was open. Nothing more is written here, and what was acknowledged since then is not in it. Put the folder back, or a backup in its place, then open the store again.`,
      { details: { path: dir } },
    );
  }
}

function isAt({ path, inode }: HeldFile): boolean {
  return inodeOf(path) === inode;
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
