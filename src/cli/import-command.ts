/** `turnlog import`: a session from a file into the store, all of it or nothing. */

import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { openLog } from "../events/leveldb/index.ts";
import { appendImported, readSessionFile } from "../runtime/index.ts";
import { writeLine, type Output } from "./output.ts";
import { textLines } from "./text-lines.ts";
import { amount } from "./wording.ts";

const optionsSchema = z.object({
  dir: z.string(),
  json: z.boolean().default(false),
  as: z.string().exactOptional(),
  verify: z.boolean().default(true),
});

/**
 * The store is opened, and made where there is none, once the file has been checked.
 * @throws TurnlogError as `readSessionFile`, `openLog` and `EventLog.append`
 */
export async function importFrom(
  file: string,
  given: unknown,
  { data, progress }: Output,
): Promise<void> {
  const { dir, json, ...options } = optionsSchema.parse(given);
  const lines = textLines(createReadStream(resolve(file), "utf8"));
  const { session, events } = await readSessionFile(lines, options);
  await using log = await openLog({ dir: resolve(dir) });
  const imported = await appendImported(log, session, events);
  if (json) await writeLine(data, JSON.stringify(imported));
  else
    await writeLine(
      progress,
      `Session ${session} is here, with ${amount(imported.events, "event")}.`,
    );
}
