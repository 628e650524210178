/** `turnlog fork`: creates a session that shares another's events up to a position. Runs nothing. */

import { shellWord } from "../../events/index.ts";
import { z } from "zod";
import { forkSession } from "../../archive/index.ts";
import { forkName } from "../chat/index.ts";
import { writeLine, writeLines, type Output, jsonText } from "../output/index.ts";
import { openSessions, sessionOptions } from "../settings/index.ts";

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
    keys,
    takeOver,
    json,
    position,
    as = forkName(session),
  } = optionsSchema.parse(given);
  await using log = await openSessions(
    { dir, keys, takeOver },
    { readOnly: false, withoutKey: "redact" },
  );
  const forked = await forkSession(log, session, {
    as,
    ...(position === undefined ? {} : { position }),
  });
  await writeLines(data, [json ? jsonText(forked) : forked.session]);
  if (json) return;
  const { from } = forked;
  await writeLine(
    progress,
    `It shares the events of ${from.session} up to ${from.position}. Continue it with: turnlog --session ${shellWord(as)}`,
  );
}
