/** `turnlog delete`: deletes a session permanently, after confirmation. */

import { z } from "zod";
import { shellWord, TurnlogError, type EventLog } from "../../events/index.ts";
import {
  deletedSchema,
  deleteSession as deleteWithBlobs,
  type DeletedWithBlobs,
} from "../../media/index.ts";
import { changeStored, readAnswer } from "../../runtime/index.ts";
import { waitsForAnswer } from "../../state/index.ts";
import { DONE, INTERRUPTED, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { assertCanConfirm, isConfirmed } from "../output/question.ts";
import { jsonText } from "../output/visible-text.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import { openSessions, sessionOptions, ownerOf } from "../settings/store-folder.ts";
import { amount } from "../wording/wording.ts";

const optionsSchema = z.object({
  ...sessionOptions,
  yes: z.boolean().default(false),
  cancel: z.boolean().default(false),
  forks: z.enum(["refuse", "copy"]).default("refuse"),
  olderThan: z.string().exactOptional(),
  where: z.unknown().optional(),
  dryRun: z.boolean().default(false),
});

const inTheOtherProcess =
  "A session of a store in use can be deleted by its own process: `runtime.delete(session)` in a program.";

/** @throws TurnlogError `COMMAND_REFUSED` where a turn waits for an approval, and as `EventLog.delete` */
export async function deleteSession(
  session: string,
  given: unknown,
  { data, progress }: Output,
): Promise<ExitCode> {
  const { dir, database, keys, takeOver, json, yes, cancel, forks, ...query } =
    optionsSchema.parse(given);
  if (query.olderThan !== undefined || query.where !== undefined || query.dryRun)
    throw new UsageError(
      "--older-than, --where and --dry-run choose among all sessions: use them without the name of a session.",
    );
  if (!yes)
    assertCanConfirm(
      progress,
      `Nothing was deleted: this needs a confirmation, and there is no terminal to ask for it. Add --yes to delete ${session}.`,
    );
  const owner = await ownerOf({ dir, database });
  await using log =
    owner?.log ??
    (await openSessions(
      { dir, database, keys, takeOver },
      { readOnly: false, elsewhere: inTheOtherProcess },
    ));
  if (!cancel && (await waitsForAnswer(log, session))) throw waiting(session);
  if (!yes && !(await confirmDelete(log, session))) {
    await writeLine(progress, "Nothing was deleted.");
    return INTERRUPTED;
  }
  const warnings: string[] = [];
  const warn = (error: TurnlogError): void => {
    warnings.push(error.message);
  };
  const deleted =
    owner === undefined
      ? await deleteStored(log, session, { forks }, warn)
      : await deleteThere(owner, session, { forks, cancel });
  for (const warning of warnings) await writeLine(progress, warning);
  if (json) {
    await writeLine(data, jsonText(deleted));
    return DONE;
  }
  const copies =
    deleted.forks.length === 0 ? "" : ` Copied first into: ${deleted.forks.join(", ")}.`;
  const below =
    deleted.children.length === 0
      ? ""
      : ` Its ${amount(deleted.children.length, "sub-agent")} went with it: ${deleted.children.join(", ")}.`;
  const { removed } = deleted.blobs;
  const blobs = removed === 0 ? "" : ` and ${amount(removed, "blob")}`;
  await writeLine(
    data,
    deleted.repeated
      ? `Session ${session} was already deleted.`
      : `Session ${session} was permanently deleted: ${amount(deleted.revision, "event")}${blobs}.${below}${copies}`,
  );
  return DONE;
}

/** The process that has the store open refuses to delete a session in a turn. */
async function deleteThere(
  { client }: StoreOwner,
  session: string,
  { forks, cancel }: { readonly forks: "refuse" | "copy"; readonly cancel: boolean },
): Promise<DeletedWithBlobs> {
  if (cancel) await client.session(session).cancel();
  const path = `/api/sessions/${encodeURIComponent(session)}`;
  return await client.http.json({ method: "DELETE", path, query: { forks } });
}

/** By the process that runs the session, if there is one. */
export async function deleteStored(
  log: EventLog,
  session: string,
  options: { readonly forks: "refuse" | "copy" },
  warn: (error: TurnlogError) => void,
): Promise<DeletedWithBlobs> {
  return await changeStored(
    log,
    session,
    {
      name: "delete",
      args: [options],
      read: (answer) => readAnswer(deletedSchema, session, "delete", answer),
    },
    () => deleteWithBlobs(log, log.blobs, session, options, warn),
  );
}

async function confirmDelete(log: EventLog, session: string): Promise<boolean> {
  const events = await log.revision(session);
  if (events === 0) throw notFound(session);
  return await isConfirmed(
    `Delete session ${session} with its ${amount(events, "event")} permanently? This cannot be undone.`,
  );
}

function waiting(session: string): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in a turn that waits for an approval, and was not deleted. Answer it in \`turnlog chat --session ${shellWord(session)}\`, or add --cancel to delete the session with its turn.`,
    { session },
  );
}

function notFound(session: string): TurnlogError {
  return new TurnlogError(
    "SESSION_NOT_FOUND",
    `There is no session ${session} in this store. \`turnlog sessions\` lists its sessions.`,
    { session },
  );
}
