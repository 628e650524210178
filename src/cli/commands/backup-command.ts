/** `turnlog backup`: copies the store into an empty folder and checks the copy. */

import { resolve } from "node:path";
import { DONE, type ExitCode } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import { openFolder } from "../settings/store-folder.ts";
import { amount, figure } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";

const STEP = 100_000;

/** LevelDB allows one process at a time, and its files change while the store is open. */
const inTheOtherProcess =
  "A store in use can be copied by its own process: `runtime.backup(folder)` in a program.";

export async function backup(
  folder: string,
  { dir, takeOver, json }: Given,
  { data, progress }: Output,
): Promise<ExitCode> {
  await using log = await openFolder(
    { dir, takeOver },
    { readOnly: true, elsewhere: inTheOtherProcess },
  );
  return await unlessInterrupted(async (signal) => {
    let reported = 0;
    let reporting: Promise<void> = Promise.resolve();
    const onProgress = ({ events, of }: { readonly events: number; readonly of: number }): void => {
      if (events < reported + STEP && events < of) return;
      if (events === reported) return;
      reported = events;
      reporting = reporting.then(() =>
        writeLine(progress, `${figure(events)} of ${amount(of, "event")}`),
      );
    };
    const made = await log.backup(resolve(folder), { onProgress, signal });
    await reporting;
    if (json) await writeLine(data, jsonText(made));
    else {
      const blobs = made.blobs === 0 ? "" : ` and ${amount(made.blobs, "blob")}`;
      const held = `${amount(made.sessions, "session")} with ${amount(made.events, "event")}${blobs}`;
      await writeLine(data, `${made.dir} holds a copy of ${held}. Open it with --dir ${made.dir}`);
    }
    for (const sha256 of made.lostBlobs) {
      await writeLine(progress, `Blob ${sha256} is missing or damaged, both here and in the copy.`);
    }
    return DONE;
  });
}
