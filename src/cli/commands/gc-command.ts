/** `turnlog gc`: deletes the blobs of a store that no session refers to. */

import type { CollectedBlobs } from "../../events/index.ts";
import { collectBlobs } from "../../media/index.ts";
import { DONE, type ExitCode } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { openStore, type StorePlace, ownerOf } from "../settings/store-folder.ts";
import { amount, figure } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";

const inTheOtherProcess =
  "The blobs of a store in use can be collected by its own process: `runtime.collectBlobs()` in a program.";

/** Deletes nothing if a session cannot be read. */
export async function collectGarbage(
  { json, ...place }: Given,
  { data }: Output,
): Promise<ExitCode> {
  const owner = await ownerOf(place);
  const collected =
    owner === undefined
      ? await collectHere(place)
      : await owner.post<CollectedBlobs>("/store/collect-blobs", {});
  const { removed, bytes } = collected;
  const sentence = `Deleted ${amount(removed, "blob")} that no session uses, ${figure(bytes)} bytes.`;
  await writeLine(data, json ? jsonText(collected) : sentence);
  return DONE;
}

async function collectHere(place: StorePlace): Promise<CollectedBlobs> {
  await using log = await openStore(place, { readOnly: false, elsewhere: inTheOtherProcess });
  const { blobs } = log;
  return blobs === undefined ? { removed: 0, bytes: 0 } : await collectBlobs(log, blobs);
}
