/** A process that dies before one of its changes of files: that one and all later ones fail. */

import type * as Files from "node:fs/promises";

type FileSystem = typeof Files;

export class Death {
  #at = Infinity;
  #changes = 0;

  /** How many changes were tried since it was said when it comes. */
  get changes(): number {
    return this.#changes;
  }

  /** It comes at the n-th change from now on. */
  comes(at: number): void {
    this.#at = at;
    this.#changes = 0;
  }

  stays(): void {
    this.#at = Infinity;
  }

  /** The calls that change something, watched. */
  watched(real: FileSystem): Pick<FileSystem, "open" | "rename" | "rm"> {
    const living = async <Result>(change: () => Promise<Result>): Promise<Result> => {
      this.#changes += 1;
      if (this.#changes >= this.#at) throw new Error("dead");
      return await change();
    };
    const open = async (path: string, flags?: string, mode?: number) => {
      const opened = (): Promise<Files.FileHandle> => real.open(path, flags, mode);
      const file = await (flags === "wx" ? living(opened) : opened());
      const write = file.write.bind(file);
      const writeFile = file.writeFile.bind(file);
      return Object.assign(file, {
        write: (...given: Parameters<typeof write>) => living(() => write(...given)),
        writeFile: (...given: Parameters<typeof writeFile>) => living(() => writeFile(...given)),
      });
    };
    const rename: FileSystem["rename"] = (from, to) => living(() => real.rename(from, to));
    const remove: FileSystem["rm"] = (path, options) => living(() => real.rm(path, options));
    // The watched ones are called in one of the ways that the real ones can be.
    return { open, rename, rm: remove } as unknown as FileSystem;
  }
}
