/** `turnlog gc`: deletes the blobs of a store that no session refers to. */

import { z } from "zod";
import type { CollectedBlobs } from "../../events/index.ts";
import { collectBlobs } from "../../media/index.ts";
import { DONE, type ExitCode, writeLine, type Output, jsonText } from "../output/index.ts";
import { storeOwner } from "../owner/index.ts";
import { openStore, type StoreFolder, storeOptions } from "../settings/index.ts";
import { amount, figure } from "../wording/index.ts";

const optionsSchema = z.object(storeOptions);

const inTheOtherProcess =
  "The blobs of a store in use can be collected by its own process: `runtime.collectBlobs()` in a program.";

/** Deletes nothing if a session cannot be read. */
export async function collectGarbage(given: unknown, { data }: Output): Promise<ExitCode> {
  const { dir, takeOver, json } = optionsSchema.parse(given);
  const owner = await storeOwner(dir);
  const collected =
    owner === undefined
      ? await collectHere({ dir, takeOver })
      : await owner.post<CollectedBlobs>("/store/collect-blobs", {});
  const { removed, bytes } = collected;
  const sentence = `${amount(removed, "blob")} of no session deleted, ${figure(bytes)} bytes.`;
  await writeLine(data, json ? jsonText(collected) : sentence);
  return DONE;
}

async function collectHere(folder: StoreFolder): Promise<CollectedBlobs> {
  await using log = await openStore(folder, { readOnly: false, elsewhere: inTheOtherProcess });
  return await collectBlobs(log, log.blobs);
}
