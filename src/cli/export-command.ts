/** `turnlog export`: a session as JSON Lines, to stdout or into a file. */

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { exportSession } from "../runtime/index.ts";
import { writeLine, writeLines, type Output } from "./output.ts";
import { openStore } from "./store-folder.ts";

const optionsSchema = z.object({ dir: z.string(), out: z.string().exactOptional() });

/** @throws TurnlogError `LOG_NOT_FOUND`, `SESSION_NOT_FOUND`, and what `openLog` throws */
export async function exportTo(
  session: string,
  given: unknown,
  { data, progress }: Output,
): Promise<void> {
  const { dir, out } = optionsSchema.parse(given);
  await using log = await openStore(dir);
  const lines = exportSession(log, session);
  if (out === undefined) return await writeLines(data, lines);
  await writeWhole(resolve(out), lines);
  await writeLine(progress, `Session ${session} is in ${out}.`);
}

/** The file is there when all of it is: an export that ends early leaves what was there before. */
async function writeWhole(path: string, lines: AsyncIterable<string>): Promise<void> {
  const unfinished = `${path}.${process.pid}.part`;
  try {
    await pipeline(ended(lines), createWriteStream(unfinished, { flush: true }));
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function* ended(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}
