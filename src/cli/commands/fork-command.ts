/** `turnlog fork`: creates a session that shares another's events up to a position. Runs nothing. */

import { defined, shellWord } from "../../events/index.ts";
import { z } from "zod";
import { forkName } from "../chat/host/resumed-session.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import { sessionOptions } from "../settings/store-folder.ts";

const optionsSchema = z.object({
  ...sessionOptions,
  position: z.int().positive().exactOptional(),
  as: z.string().exactOptional(),
});

export async function fork(
  session: string,
  given: unknown,
  { data, progress }: Output,
): Promise<void> {
  const {
    dir,
    remote,
    keys,
    takeOver,
    json,
    position,
    as = forkName(session),
  } = optionsSchema.parse(given);
  await using port = await openPort({ dir, remote, keys, takeOver }, { withoutKey: "redact" });
  await port.post(session, "fork", [{ id: as, ...defined({ position }) }]);
  const [entry] = await Array.fromAsync(port.log.list({ prefix: as }));
  const from = entry?.forkedFrom ?? { session, position: await port.log.revision(session) };
  await writeLines(data, [json ? jsonText({ session: as, from }) : as]);
  if (json) return;
  await writeLine(
    progress,
    `It shares the events of ${from.session} up to ${from.position}. Continue it with: turnlog --session ${shellWord(as)}`,
  );
}
