/**
 * The boundary of the folder that the tools may use: resolves a model's path to a real path inside the
 * folder, or refuses it in words that the model can act on. Another process that puts a link into a path
 * between this check and its use is not guarded against; the tools themselves cannot make links.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { readlink, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { hasCode, TurnlogError } from "../../events/index.ts";

export interface LocatedPath {
  readonly real: string;
  /** The name for the model: relative to the folder, with `/` between names; `.` is the folder. */
  readonly name: string;
}

export interface FolderBoundary {
  /** Finds an existing path to read. @throws for a path outside, also through a link, or in a log */
  locate(path: string): Promise<LocatedPath>;
  /** Finds a path to write, whose last names may be missing. @throws also in the state of other programs */
  locateToWrite(path: string): Promise<LocatedPath>;
  /** Whether a real path holds no state of other programs: a walk enters it. */
  isOpen(real: string): boolean;
}

/** A write there could run code (a git hook); a file there is read only by its name. */
const programNames = [".git", "node_modules"];
/** Neither written nor read: it would show other sessions. */
const logName = ".turnlog";

/** `logs`: log folders besides `.turnlog`, absolute or relative to the folder. @throws if the folder does not exist */
export function folderBoundary(folder: string, logs: readonly string[] = []): FolderBoundary {
  const given = resolve(folder);
  const root = rootOf(given);
  const logPaths = logs.map((log) => {
    const path = resolve(root, log);
    return existsSync(path) ? realpathSync(path) : path;
  });

  /** Whether a path has one of the names below the root. Some file systems take `.GIT` for `.git`. */
  function goesThrough(real: string, names: readonly string[]): boolean {
    return relative(root, real)
      .toLowerCase()
      .split(sep)
      .some((name) => names.includes(name));
  }

  function isLog(real: string): boolean {
    return goesThrough(real, [logName]) || logPaths.some((log) => isBelow(log, real));
  }

  /** Checks the text of a path, without access to the disk. */
  function absolute(path: string): string {
    if (path.includes("\0")) throw refused(path, "A path cannot hold a NUL character.");
    const asked = isAbsolute(path) ? resolve(path) : resolve(root, path);
    if (isBelow(root, asked)) return asked;
    // The folder may have been given through a link, and the path may use that name.
    if (isBelow(given, asked)) return join(root, relative(given, asked));
    throw outside(path);
  }

  /** Follows the links of the part that exists; refuses those that lead out or nowhere. */
  async function reach(path: string): Promise<{ real: string; exists: boolean }> {
    const asked = absolute(path);
    for (let part = asked; ; part = dirname(part)) {
      try {
        const real = await realpath(part);
        if (!isBelow(root, real)) throw outside(path);
        return { real: join(real, relative(part, asked)), exists: part === asked };
      } catch (error) {
        if (!hasCode(error, "ENOENT", "ENOTDIR")) throw explained(path, error);
        if (await isLink(part))
          throw refused(path, `${path} is a link, or goes through one, that leads nowhere.`);
      }
    }
  }

  function located(real: string): LocatedPath {
    return { real, name: relative(root, real).split(sep).join("/") || "." };
  }

  const boundary: FolderBoundary = {
    async locate(path) {
      const { real, exists } = await reach(path);
      if (isLog(real))
        throw refused(path, `${path} belongs to the log of the sessions, which tools do not read.`);
      if (!exists) throw missing(path);
      return located(real);
    },
    async locateToWrite(path) {
      const { real } = await reach(path);
      if (boundary.isOpen(real)) return located(real);
      const names = [...programNames, logName].join(", ");
      throw refused(path, `${path} is in a folder that is never written to (such as ${names}).`);
    },
    isOpen: (real) => !isLog(real) && !goesThrough(real, programNames),
  };
  return boundary;
}

function rootOf(folder: string): string {
  try {
    const root = realpathSync.native(folder);
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    const why = hasCode(error, "ENOENT", "ENOTDIR") ? "does not exist" : "cannot be opened";
    throw refused(folder, `The folder ${folder} ${why}.`, error);
  }
  throw refused(folder, `${folder} is not a folder.`);
}

function isBelow(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function isLink(path: string): Promise<boolean> {
  return await readlink(path).then(
    () => true,
    () => false,
  );
}

function outside(path: string): TurnlogError {
  return refused(
    path,
    `${path} leads out of the folder; only what is inside it may be used. Use a path relative to the folder.`,
  );
}

function missing(path: string, cause?: unknown): TurnlogError {
  return refused(path, `${path} does not exist. List the files to see what does.`, cause);
}

export function refused(path: string, message: string, cause?: unknown): TurnlogError {
  return new TurnlogError("INVALID_INPUT", message, { details: { path }, cause });
}

/** The refusal for an error of `node:fs`; a refusal stays what it is. */
export function explained(path: string, error: unknown): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  if (hasCode(error, "ENOENT", "ENOTDIR", "ENAMETOOLONG")) return missing(path, error);
  const why = error instanceof Error ? error.message : String(error);
  return refused(path, `${path} cannot be used: ${why}`, error);
}
