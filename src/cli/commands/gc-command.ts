/** `turnlog gc`: takes away the blobs of a store that no session has. */

import { z } from "zod";
import { collectBlobs } from "../../media/index.ts";
import { DONE, type ExitCode, writeLine, type Output, jsonText } from "../output/index.ts";
import { openStore, storeOptions } from "../settings/index.ts";
import { amount, figure } from "../wording/index.ts";

const optionsSchema = z.object({ ...storeOptions, json: z.boolean().default(false) });

const inTheOtherProcess =
  "The blobs of a store that is in use are collected by the process that has it: `runtime.collectBlobs()` in a program.";

/** @throws TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, `LOG_DAMAGED`: then nothing is taken */
export async function collectGarbage(given: unknown, { data }: Output): Promise<ExitCode> {
  const { dir, takeOver, json } = optionsSchema.parse(given);
  await using log = await openStore(
    { dir, takeOver },
    { readOnly: false, elsewhere: inTheOtherProcess },
  );
  const collected = await collectBlobs(log, log.blobs);
  const { removed, bytes } = collected;
  const told = `${amount(removed, "blob")} of no session, ${figure(bytes)} bytes, taken away.`;
  await writeLine(data, json ? jsonText(collected) : told);
  return DONE;
}
