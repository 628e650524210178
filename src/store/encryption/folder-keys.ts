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
import { jsonOf, keyLines, UNFINISHED, type KeyStore } from "./key-store.ts";

/**
 * Keeps keys in a folder, which the first saved key creates. Only its owner can read the files (0600).
 * @example
 * const runtime = await createRuntime({ dir, agent, encryption: { keys: folderKeys("../keys") } });
 */
export function folderKeys(folder: string): KeyStore {
  check(name, folder, "folderKeys", { name: "folder" });
  const dir = resolve(folder);
  /** By the older name, since two writers would write into one draft, or move one file. */
  const lines = keyLines();
  const inLine = async <Result>(
    session: string,
    act: (path: string, older: string) => Promise<Result>,
  ): Promise<Result> => {
    if (session !== UNFINISHED) parseSessionId(session);
    const [path, older] = [pathOf(dir, session), pathOf(dir, session, OLDER_COLON)];
    try {
      return await lines(older, () => act(path, older));
    } catch (error) {
      throw failure(dir, session, error);
    }
  };
  return {
    folder: dir,
    load: (session) =>
      inLine(session, async (path, older) => {
        if (path !== older && existsSync(path)) return await textOf(path);
        const text = await textOf(older);
        if (text === undefined) return undefined;
        return ownerOf(dir, older, text, session) === session ? text : undefined;
      }),
    save: (session, key) =>
      inLine(session, async (path, older) => {
        const made = makePrivateFolder(dir);
        await moveFromOlder(dir, older, session);
        await replace(dir, path, key);
        // A lost folder would lose the key and all that it decrypts.
        if (made !== undefined) await syncAbove(dir, dirname(made));
      }),
    erase: (session) =>
      inLine(session, async (path, older) => {
        await moveFromOlder(dir, older, session);
        const draft = draftOf(path);
        // The draft of a dead process contains keys too.
        await destroy(draft);
        if (existsSync(path)) {
          // If the process dies before the removal, the zeros have a name that nobody reads.
          await rename(path, draft);
          await syncFolder(dir);
          await destroy(draft);
        }
        if (existsSync(dir)) await syncFolder(dir);
      }),
  };
}

const COLON = "+0";
/** Release 0.1 wrote `:` as it wrote `C`: `a:b` and `aCb` shared a file, which has the key of one of them. */
const OLDER_COLON = "+c";

/** File systems take names of 255 bytes, with `.key.new`. A longer one becomes a digest after `=`, where no id begins. */
const LONGEST_NAME = 247;

/** Segments are safe file names, except on systems that ignore case or forbid colons. */
function pathOf(dir: string, session: string, colon = COLON): string {
  const safe = segmentOf(session).replaceAll(/[A-Z:]/g, (found) =>
    found === ":" ? colon : `+${found.toLowerCase()}`,
  );
  const name = safe.length <= LONGEST_NAME ? safe : `=${hash("sha256", session)}`;
  return join(dir, `${name}.key`);
}

/**
 * The session whose key is in a file that several sessions may name. The text names the session; a text that does
 * not belongs to the session that asks.
 */
function ownerOf(dir: string, older: string, text: string, asking: string): string {
  const named: unknown = Reflect.get(Object(jsonOf(text)), "session");
  const isOne = typeof named === "string" && pathOf(dir, named, OLDER_COLON) === older;
  return isOne ? named : asking;
}

/** Gives the key of a session with a colon its own name before anything is written: no former text stays behind. */
async function moveFromOlder(dir: string, older: string, asking: string): Promise<void> {
  const text = await textOf(older);
  if (text === undefined) return;
  const path = pathOf(dir, ownerOf(dir, older, text, asking));
  if (path === older || existsSync(path)) return;
  await rename(older, path);
  await syncFolder(dir);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function draftOf(path: string): string {
  return `${path}.new`;
}

/** Writes the new key to disk, renames it into place, and overwrites the old one once the new name is on disk. */
async function replace(dir: string, path: string, key: string): Promise<void> {
  const draft = draftOf(path);
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
    await syncFolder(dir);
    await before?.overwrite();
  } finally {
    await before?.close();
  }
}

/** Overwrites a file, and removes it. */
async function destroy(path: string): Promise<void> {
  const file = await opened(path);
  try {
    await file?.overwrite();
  } finally {
    await file?.close();
  }
  await rm(path, { force: true });
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
