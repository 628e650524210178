/**
 * Keys as files of a folder, one for each session. The folder must be outside of the store and its
 * backups: together they reveal what was redacted since.
 */

import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { TurnlogError, parseSessionId, segmentOf } from "../../events/index.ts";
import { makePrivateFolder, PRIVATE_FILE, syncAbove, syncFolder } from "../folder/index.ts";
import { check, name } from "../../validation/index.ts";
import { UNFINISHED, type KeyStore } from "./key-store.ts";

/** Keeps keys in a folder, which the first saved key creates. Only its owner can read the files (0600). */
export function folderKeys(folder: string): KeyStore {
  check(name, folder, "folderKeys", { name: "folder" });
  const dir = resolve(folder);
  /** By session, since two writers would write into one draft. */
  const lines = new Map<string, Promise<unknown>>();
  const inLine = async (session: string, act: (path: string) => Promise<void>): Promise<void> => {
    const path = join(dir, `${fileName(session)}.key`);
    const acting = (lines.get(session) ?? Promise.resolve()).then(() => act(path));
    const settled = acting.catch(() => {});
    lines.set(session, settled);
    try {
      await acting;
    } catch (error) {
      throw failure(dir, session, error);
    } finally {
      if (lines.get(session) === settled) lines.delete(session);
    }
  };
  return {
    folder: dir,
    async load(session) {
      await lines.get(session);
      try {
        return await readFile(join(dir, `${fileName(session)}.key`), "utf8");
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw failure(dir, session, error);
      }
    },
    save: (session, key) =>
      inLine(session, async (path) => {
        const made = makePrivateFolder(dir);
        await replace(path, key);
        await syncFolder(dir);
        // A lost folder would lose the key and all that it decrypts.
        if (made !== undefined) await syncAbove(dir, dirname(made));
      }),
    erase: (session) =>
      inLine(session, async (path) => {
        // The draft of a dead process contains keys too.
        await overwrite(`${path}.new`);
        await rm(`${path}.new`, { force: true });
        await overwrite(path);
        await rm(path, { force: true });
        if (existsSync(dir)) await syncFolder(dir);
      }),
  };
}

/** File systems take names of 255 bytes, with `.key.new`. A longer one becomes a digest after `=`, where no id begins. */
const LONGEST_NAME = 247;

/** Segments are safe file names, except on systems that ignore case or forbid colons. */
function fileName(session: string): string {
  const name = session === UNFINISHED ? session : segmentOf(parseSessionId(session));
  const safe = name.replaceAll(/[A-Z:]/g, (found) =>
    found === ":" ? "+c" : `+${found.toLowerCase()}`,
  );
  return safe.length <= LONGEST_NAME ? safe : `=${hash("sha256", session)}`;
}

/** Writes the new key to disk, renames it into place, and overwrites the old one. */
async function replace(path: string, key: string): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  const file = await open(draft, "wx", PRIVATE_FILE);
  try {
    await file.writeFile(key);
    await file.sync();
  } finally {
    await file.close();
  }
  const before = await opened(path);
  try {
    await rename(draft, path);
    await before?.overwrite();
  } finally {
    await before?.close();
  }
}

async function overwrite(path: string): Promise<void> {
  const file = await opened(path);
  try {
    await file?.overwrite();
  } finally {
    await file?.close();
  }
}

/** Opens a file, to overwrite its bytes after the rename. Copies that a disk keeps are out of reach. */
async function opened(
  path: string,
): Promise<{ overwrite(): Promise<void>; close(): Promise<void> } | undefined> {
  try {
    const file = await open(path, "r+");
    return {
      async overwrite() {
        const { size } = await file.stat();
        await file.write(Buffer.alloc(size), 0, size, 0);
        await file.sync();
      },
      close: () => file.close(),
    };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function failure(dir: string, session: string, cause: unknown): TurnlogError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const [what, about] =
    session === UNFINISHED ? ["The keys", {}] : [`The key of session ${session}`, { session }];
  return new TurnlogError(
    "LOG_FAILED",
    `${what} in ${dir} cannot be read or written: ${why}. Make sure that the folder exists or can be created, and that you own it.`,
    { ...about, cause },
  );
}
