/** Small JSON files beside the log, replaced as a whole. */

import { closeSync, fsync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import type { z } from "zod";
import { PRIVATE_FILE } from "../../folder/index.ts";
import { hasCode } from "../../../events/index.ts";

/** `none` if the file does not exist, `unreadable` if it is not valid. `look` gets the JSON before the schema does. */
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
    // Read once in a process: compiling the schema would take longer.
    return schema.safeParse(json, { jitless: true }).data ?? "unreadable";
  } catch (error) {
    if (error instanceof SyntaxError) return "unreadable";
    throw error;
  }
}

export interface JsonDraft {
  /** Renames it into place, once it is on disk. */
  put(): Promise<void>;
  discard(): Promise<void>;
}

/** Begins to write a new version, in parallel to other work. */
export function draftJsonFile(path: string, value: unknown): JsonDraft {
  const draft = `${path}.new`;
  // A discarded draft must not cause an unhandled rejection.
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
