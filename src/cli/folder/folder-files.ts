/** Walks the folder and reads its text files, for the tools that list, read and search. */
import type { Dirent } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, matchesGlob, posix } from "node:path";
import { createContext, Script } from "node:vm";
import { hasCode } from "../../events/index.ts";
import { explained, refused, type FolderBoundary, type LocatedPath } from "./folder-boundary.ts";

const mostEntries = 50_000;
const longestList = 20;
/** The most bytes of a file that is read. */
const mostBytes = 8 * 1024 * 1024;
/** Milliseconds for a model's glob or expression, far more than an ordinary one takes. */
const patience = 1000;

export interface Walk {
  readonly found: readonly (LocatedPath & { readonly isFolder: boolean })[];
  /** Skipped entries, and why. */
  readonly passedOver: readonly string[];
  /** Present if the walk ended early. */
  readonly cut?: string;
}

export interface WalkOptions {
  /** Whether to enter folders. Links to folders are never entered: the walk finds their targets by name. */
  readonly recursive: boolean;
  /** A glob over the names below the start, or over last names if it has no `/`. */
  readonly pattern: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The entries by name: those of the start folder, then of each folder below, without state of other programs. */
export async function walkFolder(
  boundary: FolderBoundary,
  start: LocatedPath,
  { recursive, pattern, signal }: WalkOptions,
): Promise<Walk> {
  const found: (LocatedPath & { isFolder: boolean })[] = [];
  const passedOver: string[] = [];
  const waiting = [start];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    signal?.throwIfAborted();
    if (found.length >= mostEntries) break;
    const below: LocatedPath[] = [];
    for (const entry of await entriesOf(folder, folder === start, passedOver)) {
      const real = join(folder.real, entry.name);
      const name = folder.name === "." ? entry.name : `${folder.name}/${entry.name}`;
      if (entry.isSymbolicLink()) {
        const end = await targetOf(boundary, name);
        if (end !== undefined) found.push({ ...end, name });
        else passedOver.push(`${name} (a link that leads out of the folder, to a log or nowhere)`);
      } else if (!entry.isDirectory()) {
        found.push({ real, name, isFolder: false });
      } else if (boundary.isOpen(real)) {
        found.push({ real, name, isFolder: true });
        below.push({ real, name });
      }
    }
    if (recursive) waiting.push(...below.toReversed());
  }
  const cut = `the walk ended after ${found.length} entries. Name a folder.`;
  return {
    found: matching(found, start, pattern),
    passedOver,
    ...(found.length >= mostEntries && { cut }),
  };
}

async function entriesOf(
  { real, name }: LocatedPath,
  required: boolean,
  passedOver: string[],
): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(real, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const why = hasCode(error, "ENOTDIR")
      ? refused(name, `${name} is a file, not a folder.`, error)
      : explained(name, error);
    if (required) throw why;
    passedOver.push(`${name} (${why.message})`);
    return [];
  }
}

/** The end of a link; undefined if it may not be used. */
async function targetOf(
  boundary: FolderBoundary,
  name: string,
): Promise<{ readonly real: string; readonly isFolder: boolean } | undefined> {
  try {
    const { real } = await boundary.locate(name);
    return { real, isFolder: (await stat(real)).isDirectory() };
  } catch {
    return undefined;
  }
}

function matching<Entry extends LocatedPath>(
  entries: readonly Entry[],
  start: LocatedPath,
  pattern: string | undefined,
): readonly Entry[] {
  if (pattern === undefined) return entries;
  // A range or several choices expand into millions of globs before the first match.
  if (pattern.length > 200 || /\{[^}]*\.\./.test(pattern) || pattern.split("{").length > 4)
    throw refused(
      pattern,
      `The pattern ${pattern} cannot be used: it is too long, holds a range, or has more than three {a,b} choices. Use a simpler one.`,
    );
  const glob = pattern.replace(/^\.\//, "");
  const skipped = start.name === "." ? 0 : start.name.length + 1;
  const nameOf = glob.includes("/")
    ? ({ name }: Entry) => name.slice(skipped)
    : ({ name }: Entry) => posix.basename(name);
  return timeBoxed(pattern, () => entries.filter((entry) => matchesGlob(nameOf(entry), glob)));
}

/** The lines of a file without their ends; undefined for a binary file. A last newline begins no further line. */
export async function readLines({
  real,
  name,
}: LocatedPath): Promise<readonly string[] | undefined> {
  try {
    const stats = await stat(real);
    if (stats.isDirectory()) throw refused(name, `${name} is a folder, not a file.`);
    // A pipe would never end.
    if (!stats.isFile()) throw refused(name, `${name} is neither a file nor a folder.`);
    if (stats.size > mostBytes)
      throw refused(name, `${name} has more than 8 MB, which is too much to be read.`);
    const bytes = await readFile(real);
    // Like git and grep, takes a NUL byte as the mark of a binary file.
    if (bytes.includes(0)) return undefined;
    return linesOf(new TextDecoder().decode(bytes));
  } catch (error) {
    throw explained(name, error);
  }
}

export function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

const box = createContext({ run: () => {} });
const script = new Script("run()");

/** Runs a model's glob or expression, and stops it when it takes too long. It blocks the process. */
export function timeBoxed<T>(expression: string, work: () => readonly T[]): readonly T[] {
  let result: readonly T[] = [];
  box["run"] = () => {
    result = work();
  };
  try {
    script.runInContext(box, { timeout: patience });
    return result;
  } catch (error) {
    const message = `The expression ${expression} cannot be used: it takes too long to match. Use a simpler one.`;
    throw refused(expression, message, error);
  }
}

/** What a tool left out; a long list is shortened, since the model's window is limited. */
export function coverage(
  notes: readonly string[],
  cut: string | undefined,
): { readonly passedOver?: readonly string[]; readonly cut?: string } {
  const rest = notes.length - longestList;
  const passedOver = rest > 0 ? [...notes.slice(0, longestList), `and ${rest} more`] : notes;
  return { ...(notes.length > 0 && { passedOver }), ...(cut !== undefined && { cut }) };
}
