/** `turnlog fork`: creates a session that shares another's events up to a position. Runs nothing. */

import { shellWord } from "../../events/index.ts";
import { z } from "zod";
import { forkSession, type ForkedSession } from "../../archive/index.ts";
import { forkName } from "../chat/host/resumed-session.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import {
  openSessions,
  type SessionsPlace,
  sessionOptions,
  ownerOf,
} from "../settings/store-folder.ts";

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
    database,
    keys,
    takeOver,
    json,
    position,
    as = forkName(session),
  } = optionsSchema.parse(given);
  const options = { as, ...(position === undefined ? {} : { position }) };
  const owner = await ownerOf({ dir, database });
  const forked =
    owner === undefined
      ? await forkHere({ dir, database, keys, takeOver }, session, options)
      : await forkThere(owner, session, options);
  await writeLines(data, [json ? jsonText(forked) : forked.session]);
  if (json) return;
  const { from } = forked;
  await writeLine(
    progress,
    `It shares the events of ${from.session} up to ${from.position}. Continue it with: turnlog --session ${shellWord(as)}`,
  );
}

interface ForkOptions {
  readonly as: string;
  readonly position?: number;
}

async function forkHere(
  folder: SessionsPlace,
  session: string,
  options: ForkOptions,
): Promise<ForkedSession> {
  await using log = await openSessions(folder, { readOnly: false, withoutKey: "redact" });
  return await forkSession(log, session, options);
}

/** By the process that has the store open. */
async function forkThere(
  { client, log }: StoreOwner,
  session: string,
  { as, ...place }: ForkOptions,
): Promise<ForkedSession> {
  const fork = await client.session(session).fork({ id: as, ...place });
  const [entry] = await Array.fromAsync(log.list({ prefix: fork.id }));
  const from = entry?.forkedFrom ?? { session, position: await log.revision(session) };
  return { session: fork.id, from };
}
