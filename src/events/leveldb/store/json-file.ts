/** Small JSON files beside the log, replaced as a whole. */

import { open, readFile, rename } from "node:fs/promises";
import type { z } from "zod";
import { hasCode } from "./store-paths.ts";

/** What a file says; `none` when there is no file, `unreadable` when it says something else. */
export async function readJsonFile<Value>(
  path: string,
  schema: z.ZodType<Value>,
): Promise<Value | "none" | "unreadable"> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "none";
    throw error;
  }
  try {
    // Read once in a process: compiling the schema for it would take longer.
    return schema.safeParse(JSON.parse(text), { jitless: true }).data ?? "unreadable";
  } catch (error) {
    if (error instanceof SyntaxError) return "unreadable";
    throw error;
  }
}

/** Replaces a file at one stroke; on disk before it is in its place. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, "w");
  try {
    await file.writeFile(`${JSON.stringify(value)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
