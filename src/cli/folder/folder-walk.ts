/** Walks the folder for the tools that list and search. Resolves every link, and follows none that leads out. */
import { hasCode } from "../../events/index.ts";
import { constants, type Dirent } from "node:fs";
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { FolderBoundary, LocatedPath } from "./folder-boundary.ts";
import { explainSystemError, folderError } from "./folder-error.ts";
import { isOpenedAt, kernelTellsPaths, pathByHandle } from "./folder-file.ts";

const LONGEST_LIST = 20;

/** A file or folder under the name of the walk, or a skipped entry and why. */
export type WalkEntry =
  | ({ readonly kind: "file" | "folder" } & LocatedPath)
  | { readonly kind: "passed-over"; readonly name: string; readonly why: string };

export interface WalkOptions {
  /** Whether to enter folders. Links to folders are never entered: the walk finds their targets by name. */
  readonly recursive: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Yields each folder's entries by name: the start folder first, then those below, depth first; no kept folders. */
export async function* walkFolder(
  boundary: FolderBoundary,
  start: LocatedPath,
  { recursive, signal }: WalkOptions,
): AsyncGenerator<readonly WalkEntry[]> {
  const waiting: LocatedPath[] = [start];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    signal?.throwIfAborted();
    const { entries, below } = await readFolder(boundary, folder, folder === start);
    yield entries;
    if (recursive) waiting.push(...below.toReversed());
  }
}

interface FolderContent {
  readonly entries: readonly WalkEntry[];
  /** Folders that are not links. */
  readonly below: readonly LocatedPath[];
}

async function readFolder(
  boundary: FolderBoundary,
  folder: LocatedPath,
  required: boolean,
): Promise<FolderContent> {
  let found: Dirent[];
  try {
    found = await namesIn(folder);
  } catch (error) {
    const explained = hasCode(error, "ENOTDIR")
      ? folderError("not-a-folder", folder.name, `${folder.name} is a file, not a folder.`, error)
      : explainSystemError(error, folder.name);
    if (required || !(explained instanceof Error)) throw explained;
    return {
      entries: [{ kind: "passed-over", name: folder.name, why: explained.message }],
      below: [],
    };
  }
  const entries: WalkEntry[] = [];
  const below: LocatedPath[] = [];
  for (const dirent of found.toSorted(byName)) {
    const real = join(folder.real, dirent.name);
    const name = folder.name === "." ? dirent.name : `${folder.name}/${dirent.name}`;
    if (dirent.isFile()) {
      entries.push({ kind: "file", real, name });
    } else if (dirent.isDirectory()) {
      if (boundary.kept.isKept(real)) continue;
      entries.push({ kind: "folder", real, name });
      below.push({ real, name });
    } else if (dirent.isSymbolicLink()) {
      entries.push(await followLink(boundary, { real, name }));
    } else {
      entries.push({ kind: "passed-over", name, why: "neither a file nor a folder" });
    }
  }
  return { entries, below };
}

/** The entries of the folder itself, even if a link takes its place meanwhile. */
async function namesIn({ real, name }: LocatedPath): Promise<Dirent[]> {
  if (!kernelTellsPaths) {
    const found = await readdir(real, { withFileTypes: true });
    if ((await realpath(real)) === real) return found;
    throw changed(name);
  }
  await using handle = await open(real, constants.O_RDONLY | constants.O_DIRECTORY);
  if (await isOpenedAt(handle, real))
    return await readdir(pathByHandle(handle), { withFileTypes: true });
  throw changed(name);
}

function changed(name: string): Error {
  return folderError("changed", name, `${name} changed while it was being read. Try again.`);
}

async function followLink(boundary: FolderBoundary, link: LocatedPath): Promise<WalkEntry> {
  const { name } = link;
  try {
    const real = await realpath(link.real);
    if (!boundary.contains(real)) {
      return { kind: "passed-over", name, why: "a link that leads out of the folder" };
    }
    if (boundary.kept.hides(real)) {
      return { kind: "passed-over", name, why: "a link into the log of the sessions" };
    }
    const stats = await lstat(real);
    if (stats.isFile()) return { kind: "file", name, real };
    if (stats.isDirectory()) return { kind: "folder", name, real };
    return { kind: "passed-over", name, why: "neither a file nor a folder" };
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTDIR", "ELOOP", "EACCES"))
      throw explainSystemError(error, name);
    return { kind: "passed-over", name, why: "a link that leads nowhere" };
  }
}

export function nameBelow(start: LocatedPath, name: string): string {
  return start.name === "." ? name : name.slice(start.name.length + 1);
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** Shortens a list of skipped files: the model's window is limited. */
export function shortened(notes: readonly string[]): readonly string[] {
  if (notes.length <= LONGEST_LIST) return notes;
  return [...notes.slice(0, LONGEST_LIST), `and ${notes.length - LONGEST_LIST} more`];
}
