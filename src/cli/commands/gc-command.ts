/** `turnlog gc`: deletes the blobs of a store that no session refers to. */

import { z } from "zod";
import { collectBlobs } from "../../media/index.ts";
import { DONE, type ExitCode, writeLine, type Output, jsonText } from "../output/index.ts";
import { openStore, storeOptions } from "../settings/index.ts";
import { amount, figure } from "../wording/index.ts";

const optionsSchema = z.object(storeOptions);

const inTheOtherProcess =
  "The blobs of a store in use can be collected by its own process: `runtime.collectBlobs()` in a program.";

/** Deletes nothing if a session cannot be read. */
export async function collectGarbage(given: unknown, { data }: Output): Promise<ExitCode> {
  const { dir, takeOver, json } = optionsSchema.parse(given);
  await using log = await openStore(
    { dir, takeOver },
    { readOnly: false, elsewhere: inTheOtherProcess },
  );
  const collected = await collectBlobs(log, log.blobs);
  const { removed, bytes } = collected;
  const sentence = `${amount(removed, "blob")} of no session deleted, ${figure(bytes)} bytes.`;
  await writeLine(data, json ? jsonText(collected) : sentence);
  return DONE;
}
