/** Searches the files that the boundary opens, in the order of the walk. Yields matches, or why one was skipped. */
import { lstat } from "node:fs/promises";
import { TurnlogError } from "../../events/index.ts";
import type { FolderBoundary, LocatedPath } from "./folder-boundary.ts";
import { explainSystemError } from "./folder-error.ts";
import { openToRead } from "./folder-file.ts";
import { patternFilter } from "./folder-pattern.ts";
import { mostBytes, readText, sizeOf } from "./folder-text.ts";
import { nameBelow, walkFolder, type WalkEntry } from "./folder-walk.ts";
import type { LineFinder, LineMatch } from "./line-finder.ts";

export type FileSearch =
  | {
      readonly kind: "searched";
      readonly name: string;
      readonly matches: readonly LineMatch[];
      /** Present if only a part of the file was searched. */
      readonly note?: string;
    }
  | { readonly kind: "binary"; readonly name: string }
  | { readonly kind: "passed-over"; readonly name: string; readonly why: string };

export interface FolderSearch {
  readonly find: LineFinder;
  readonly pattern: string | undefined;
  readonly signal: AbortSignal | undefined;
}

const concurrency = 8;

export async function* searchFolder(
  boundary: FolderBoundary,
  start: LocatedPath,
  search: FolderSearch,
): AsyncGenerator<FileSearch> {
  for await (const batch of batchesBelow(boundary, start, search)) {
    for (let from = 0; from < batch.length; from += concurrency) {
      search.signal?.throwIfAborted();
      const group = batch.slice(from, from + concurrency);
      yield* await Promise.all(group.map((entry) => searchEntry(boundary, entry, search)));
    }
  }
}

type Searchable = Exclude<WalkEntry, { kind: "folder" }>;

async function* batchesBelow(
  boundary: FolderBoundary,
  start: LocatedPath,
  { pattern, signal }: FolderSearch,
): AsyncGenerator<readonly Searchable[]> {
  if (await isFile(start)) {
    yield [{ kind: "file", ...start }];
    return;
  }
  const takes = patternFilter(pattern);
  for await (const batch of walkFolder(boundary, start, { recursive: true, signal })) {
    const taken = takes(batch.map((entry) => nameBelow(start, entry.name)));
    yield batch.flatMap((entry, index) =>
      entry.kind === "passed-over" || (entry.kind === "file" && taken[index] === true)
        ? [entry]
        : [],
    );
  }
}

async function isFile({ real, name }: LocatedPath): Promise<boolean> {
  try {
    return (await lstat(real)).isFile();
  } catch (error) {
    throw explainSystemError(error, name);
  }
}

async function searchEntry(
  boundary: FolderBoundary,
  entry: Searchable,
  { find, signal }: FolderSearch,
): Promise<FileSearch> {
  if (entry.kind === "passed-over") return entry;
  const { name } = entry;
  let read;
  try {
    await using handle = await openToRead(boundary, entry);
    read = await readText(handle, signal);
  } catch (error) {
    // A file that cannot be read is reported and does not end the search.
    const explained = explainSystemError(error, name);
    if (!TurnlogError.isInstance(explained)) throw error;
    return { kind: "passed-over", name, why: explained.message };
  }
  if (read.kind === "binary") return { kind: "binary", name };
  const matches = find(read.lines);
  if (read.whole) return { kind: "searched", name, matches };
  return {
    kind: "searched",
    name,
    matches,
    note: `only the first ${sizeOf(mostBytes)} were searched`,
  };
}
