/** Small JSON files beside the log, replaced as a whole. */

import { closeSync, fsync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import type { z } from "zod";
import { PRIVATE_FILE } from "../../folder/index.ts";
import { hasCode } from "../../../events/index.ts";

/**
 * What a file says; `none` when there is no file, `unreadable` when it says something else.
 * @param look - Sees the file's JSON before the schema does.
 */
export function readJsonFile<Value>(
  path: string,
  schema: z.ZodType<Value>,
  look: (json: unknown) => void = () => {},
): Value | "none" | "unreadable" {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "none";
    throw error;
  }
  try {
    const json: unknown = JSON.parse(text);
    look(json);
    // Read once in a process: compiling the schema for it would take longer.
    return schema.safeParse(json, { jitless: true }).data ?? "unreadable";
  } catch (error) {
    if (error instanceof SyntaxError) return "unreadable";
    throw error;
  }
}

/** What a file is to say, as long as it is beside its place. */
export interface JsonDraft {
  /** Puts it in its place at one stroke, once it is on the disk. */
  put(): Promise<void>;
  /** Leaves nothing of it behind. */
  discard(): Promise<void>;
}

/** Begins to write what a file is to say, which takes as long as the disk does. */
export function draftJsonFile(path: string, value: unknown): JsonDraft {
  const draft = `${path}.new`;
  // Whoever has no use for it any more is not told that it failed.
  const written = writeSynced(draft, `${JSON.stringify(value)}\n`).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  return {
    async put() {
      const failed = await written;
      if (failed !== undefined) throw failed.error;
      renameSync(draft, path);
    },
    async discard() {
      await written;
      rmSync(draft, { force: true });
    },
  };
}

/** Replaces a file at one stroke; on disk before it is in its place. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  await draftJsonFile(path, value).put();
}

const synced = promisify(fsync);

async function writeSynced(path: string, text: string): Promise<void> {
  const file = openSync(path, "w", PRIVATE_FILE);
  try {
    writeSync(file, text);
    await synced(file);
  } finally {
    closeSync(file);
  }
}
