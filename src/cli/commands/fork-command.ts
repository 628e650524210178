/** `turnlog fork`: creates a session that shares another's events up to a position. Runs nothing. */

import { defined, shellWord } from "../../events/index.ts";
import { forkName } from "../chat/host/resumed-session.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import type { Given } from "./option-values.ts";
import type { forkOptions } from "./command-options.ts";

export async function fork(
  session: string,
  { json, position, as = forkName(session), ...place }: Given<typeof forkOptions>,
  { data, progress }: Output,
): Promise<void> {
  await using port = await openPort(place, { withoutKey: "redact" });
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
