/** `turnlog rotate-keys`: wraps the keys of all sessions by the current master key. */

import { DONE, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { masterKeysIn, openFolder } from "../settings/store-folder.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";

const inTheOtherProcess =
  "The keys of a store in use can be rotated by its own process: `keys.rotate(runtime.log)` in a program.";

export async function rotateKeys(
  { dir, keys: folder, takeOver, json }: Given,
  { data }: Output,
): Promise<ExitCode> {
  const keys = masterKeysIn(folder, dir);
  if (keys === undefined)
    throw new UsageError(
      "Name the folder of the keys (--keys or TURNLOG_KEYS), and set TURNLOG_MASTER_KEY to the new master key and TURNLOG_FORMER_MASTER_KEYS to the former ones.",
    );
  await using log = await openFolder(
    { dir, takeOver },
    { readOnly: false, elsewhere: inTheOtherProcess },
  );
  const rotated = await keys.rotate(log);
  const sentence = `${amount(rotated.rotated, "key")} of ${rotated.keys} rewrapped. Former master keys are now needed only for copies of the keys.`;
  await writeLine(data, json ? jsonText(rotated) : sentence);
  return DONE;
}
