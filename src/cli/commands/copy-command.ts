/** `turnlog copy`: copies all sessions between a folder and a database. */

import { resolve } from "node:path";
import { copyLog, type CopiedLog } from "../../archive/exchange/index.ts";
import type { TurnlogError } from "../../events/index.ts";
import { DONE, UsageError, type ExitCode } from "../output/error-report.ts";
import { jsonText } from "../output/visible-text.ts";
import { writeLine, type Output } from "../output/output.ts";
import { openStore, type StorePlace } from "../settings/store-folder.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import { amount, figure } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import type { copyOptions } from "./command-options.ts";

export async function copy(
  { from, to, migrate, follow, takeOver, json }: Given<typeof copyOptions>,
  { data, progress }: Output,
): Promise<ExitCode> {
  const [source, target] = [from, to].map((store) => placeOf(store, migrate, takeOver));
  if (source === undefined || target === undefined || nameOf(source) === nameOf(target))
    throw new UsageError("--from and --to name the same store: name another one with --to.");
  if (!migrate && target.remote === undefined)
    throw new UsageError("--no-migrate is only for a copy into a database: leave it out.");
  if (takeOver && source.remote !== undefined && target.remote !== undefined)
    throw new UsageError("--take-over is only for a store in a folder: leave it out.");
  await using read = await openStore(source, { readOnly: true });
  await using written = await openStore(target, { readOnly: false, creates: true });
  const say = (text: string): void => void writeLine(progress, text).catch(() => {});
  const options = {
    follow,
    onProgress: (done: number, remaining: number) =>
      say(`${amount(done, "event")} copied, ${figure(remaining)} to go.`),
    onLost: ({ message }: TurnlogError) => say(`Left out: ${message}`),
  };
  return await unlessInterrupted(async (signal) => {
    const copied = await copyLog(read, written, { ...options, signal });
    await writeLine(data, json ? jsonText(copied) : sentence(copied, signal.aborted));
    return DONE;
  });
}

function sentence({ sessions, events, blobs }: CopiedLog, isInterrupted: boolean): string {
  const media = blobs === 0 ? "" : ` and ${amount(blobs, "blob")}`;
  const copied = `${amount(events, "event")}${media} of ${amount(sessions, "session")} copied.`;
  if (isInterrupted) return `${copied} Run it again to continue.`;
  if (events === 0) return "Nothing to copy: the target has everything that the source has.";
  return `${copied} The target has everything that the source has.`;
}

function placeOf(store: string, migrate: boolean, takeOver: boolean): StorePlace {
  const isUrl = /^postgres(?:ql)?:\/\//.test(store);
  const remote = isUrl
    ? ({ kind: "database", connectionString: store, migrate } as const)
    : undefined;
  return { dir: store, remote, takeOver };
}

function nameOf({ dir, remote }: StorePlace): string {
  return remote?.kind === "database" ? remote.connectionString : resolve(dir);
}
