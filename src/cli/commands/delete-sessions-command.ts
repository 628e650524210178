/** `turnlog delete --older-than --where`: says which sessions it would delete, and deletes them after confirmation. */

import { deleteSessions, type DeletedSessions, type DeletionQuery } from "../../archive/index.ts";
import type { TurnlogError } from "../../events/index.ts";
import { DONE, INTERRUPTED, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { assertCanConfirm, isConfirmed } from "../output/question.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import { amount, dateAndTime } from "../wording/wording.ts";
import { deleteSession } from "./delete-command.ts";
import { momentBefore } from "./option-values.ts";
import type { Given } from "./option-values.ts";
import type { deleteOptions } from "./command-options.ts";

const inTheOtherProcess =
  "Sessions of a store in use can be deleted by its own process: `runtime.deleteSessions({ olderThan })` in a program.";

/** One session if it is named. */
export async function deleteAny(
  session: string | undefined,
  options: Given<typeof deleteOptions>,
  output: Output,
): Promise<ExitCode> {
  if (session !== undefined) return await deleteSession(session, options, output);
  const { data, progress } = output;
  const { json, yes, dryRun, olderThan, where, forks, cancel } = options;
  if (olderThan === undefined && where === undefined)
    throw new UsageError("Name a session, or choose some by --older-than and --where.");
  if (!yes && !dryRun)
    assertCanConfirm(
      progress,
      "Nothing was deleted: this needs a confirmation, and there is no terminal to ask for it. Add --yes, or --dry-run to see what would be deleted.",
    );
  const query: DeletionQuery = {
    forks,
    cancel,
    ...(where === undefined ? {} : { where }),
    ...(olderThan === undefined
      ? {}
      : { olderThan: new Date(momentBefore("--older-than", olderThan, Date.now())) }),
  };
  await using port = await openPort(options, { elsewhere: inTheOtherProcess, readOnly: dryRun });
  const warnings: string[] = [];
  const warn = ({ message }: TurnlogError): void => void warnings.push(message);
  const run = (isDry: boolean): Promise<DeletedSessions> =>
    deleteSessions(port.log, { ...query, dryRun: isDry }, (session) =>
      port.delete(session, { forks, cancel }, warn),
    );
  if (!dryRun && !yes) {
    const would = await run(true);
    await writeLines(progress, lines(would));
    const number = would.deleted.length;
    if (number > 0 && !(await isConfirmed(`Delete ${amount(number, "session")} permanently?`))) {
      await writeLine(progress, "Nothing was deleted.");
      return INTERRUPTED;
    }
  }
  const done = await run(dryRun);
  for (const warning of warnings) await writeLine(progress, warning);
  await writeLines(data, json ? [jsonText(shown(done))] : lines(done));
  return DONE;
}

function lines({ deleted, kept, dryRun }: DeletedSessions): readonly string[] {
  const what = dryRun ? "Would delete" : "Deleted";
  return [
    ...deleted.map(
      ({ session, revision, updatedAt }) =>
        `${what} ${visibleName(session)}: ${amount(revision, "event")}, the last at ${dateAndTime(updatedAt)}.`,
    ),
    ...kept.map(({ error }) => error.message),
    `${what} ${amount(deleted.length, "session")}${kept.length === 0 ? "" : `, kept ${kept.length}`}.`,
  ];
}

function shown({ kept, ...done }: DeletedSessions): object {
  return {
    ...done,
    kept: kept.map(({ session, error: { code, message } }) => ({ session, code, message })),
  };
}
