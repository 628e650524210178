/**
 * What erases permanently, after confirmation: `turnlog delete` deletes one session, or all that `--older-than` and
 * `--where` choose; `turnlog redact` redacts positions of one.
 */

import {
  type EventLog,
  type PositionRange,
  TurnlogError,
  defined,
  shellWord,
} from "../../events/index.ts";
import type { DeletedWithBlobs } from "../../media/index.ts";
import { querySessions, waitsForAnswer } from "../../state/index.ts";
import { DONE, type ExitCode, INTERRUPTED, UsageError } from "../output/error-report.ts";
import { type Output, writeLine, writeLines } from "../output/output.ts";
import { assertCanConfirm, isConfirmed } from "../output/question.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import { amount, dateAndTime } from "../wording/wording.ts";
import { type Given, momentBefore } from "./option-values.ts";
import type { deleteOptions, redactOptions } from "./command-options.ts";
import { type DeletedSessions, type DeletionQuery, deleteSessions } from "../../archive/index.ts";
import { redactionSchema } from "../../commands/index.ts";

type Options = Given<typeof deleteOptions>;

/** One session if it is named. */
export async function deleteAny(
  session: string | undefined,
  options: Options,
  output: Output,
): Promise<ExitCode> {
  return session === undefined
    ? await deleteChosen(options, output)
    : await deleteOne(session, options, output);
}

/** @throws TurnlogError `COMMAND_REFUSED` where a turn waits for an approval, and as `EventLog.delete` */
async function deleteOne(
  session: string,
  { json, yes, cancel, forks, ...options }: Options,
  { data, progress }: Output,
): Promise<ExitCode> {
  if (options.olderThan !== undefined || options.where !== undefined || options.dryRun)
    throw new UsageError(
      "--older-than, --where and --dry-run choose among all sessions: use them without the name of a session.",
    );
  if (!yes) assertCanConfirm(progress, "Nothing was deleted", `Add --yes to delete ${session}.`);
  const elsewhere =
    "A session of a store in use can be deleted by its own process: `runtime.delete(session)` in a program.";
  await using port = await openPort(options, { elsewhere });
  const { log } = port;
  if (!cancel && (await waitsForAnswer(log, session)))
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} is in a turn that waits for an approval, and was not deleted. Answer it in \`turnlog chat --session ${shellWord(session)}\`, or add --cancel to delete the session with its turn.`,
      { session },
    );
  if (!yes && !(await confirmDelete(log, session))) {
    await writeLine(progress, "Nothing was deleted.");
    return INTERRUPTED;
  }
  const warnings: string[] = [];
  const warn = ({ message }: TurnlogError): void => void warnings.push(message);
  const deleted = await port.delete(session, { forks, cancel }, warn);
  for (const warning of warnings) await writeLine(progress, warning);
  await writeLine(data, json ? jsonText(deleted) : deletedSentence(session, deleted));
  return DONE;
}

function deletedSentence(
  session: string,
  { repeated, revision, blobs: { removed }, forks, children }: DeletedWithBlobs,
): string {
  if (repeated) return `Session ${session} was already deleted.`;
  const blobs = removed === 0 ? "" : ` and ${amount(removed, "blob")}`;
  const below =
    children.length === 0
      ? ""
      : ` Its ${amount(children.length, "sub-agent")} went with it: ${children.join(", ")}.`;
  const copies = forks.length === 0 ? "" : ` Copied first into: ${forks.join(", ")}.`;
  return `Session ${session} was permanently deleted: ${amount(revision, "event")}${blobs}.${below}${copies}`;
}

async function confirmDelete(log: EventLog, session: string): Promise<boolean> {
  const events = await log.revision(session);
  if (events === 0)
    throw new TurnlogError(
      "SESSION_NOT_FOUND",
      `There is no session ${session} in this store. \`turnlog sessions\` lists its sessions.`,
      { session },
    );
  return await isConfirmed(
    `Delete session ${session} with its ${amount(events, "event")} permanently? This cannot be undone.`,
  );
}

/** Says which sessions it would delete, and deletes them after confirmation. */
async function deleteChosen(options: Options, { data, progress }: Output): Promise<ExitCode> {
  const { json, yes, dryRun, olderThan, where, forks, cancel } = options;
  if (olderThan === undefined && where === undefined)
    throw new UsageError("Name a session, or choose some by --older-than and --where.");
  if (!yes && !dryRun)
    assertCanConfirm(
      progress,
      "Nothing was deleted",
      "Add --yes, or --dry-run to see what would be deleted.",
    );
  const query: DeletionQuery = {
    forks,
    cancel,
    ...defined({
      where,
      olderThan:
        olderThan === undefined
          ? undefined
          : new Date(momentBefore("--older-than", olderThan, Date.now())),
    }),
  };
  const elsewhere =
    "Sessions of a store in use can be deleted by its own process: `runtime.deleteSessions({ olderThan })` in a program.";
  await using port = await openPort(options, { elsewhere, readOnly: dryRun });
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

const inTheOtherProcess =
  "A session of a store in use can be redacted by its own process: `session.redact(positions)` in a program.";

export async function redact(
  session: string,
  positions: readonly PositionRange[],
  { json, yes, reason, ...place }: Given<typeof redactOptions>,
  { data, progress }: Output,
): Promise<ExitCode> {
  if (!yes) assertCanConfirm(progress, "Nothing was redacted", `Add --yes to redact ${session}.`);
  // Opened before the question: a store that cannot be opened needs no answer.
  await using port = await openPort(place, { elsewhere: inTheOtherProcess });
  const question = `Redact session ${session} at ${positions.map(rangeText).join(", ")} permanently? This cannot be undone.`;
  if (!yes && !(await isConfirmed(question))) {
    await writeLine(progress, "Nothing was redacted.");
    return INTERRUPTED;
  }
  const { ranges, summaries, ...redacted } = redactionSchema.parse(
    await port.post(session, "redact", [positions, defined({ reason })]),
  );
  const repeated = await Array.fromAsync(querySessions(port.log, { where: { of: session } }));
  const runs = repeated.filter(({ metadata }) => metadata?.["experiment"] !== undefined);
  if (runs.length > 0) {
    const names = runs.map((run) => visibleName(run.session)).join(", ");
    await writeLine(
      progress,
      `Runs of \`turnlog compare\` repeat the content. Redact or delete them too: ${names}.`,
    );
  }
  if (json) {
    await writeLine(data, jsonText({ ...redacted, ranges, summaries }));
    return DONE;
  }
  const events = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const redactedText = `Session ${session} is redacted at ${ranges.map(rangeText).join(", ")}: ${amount(events, "event")}.`;
  await writeLine(data, events === 0 ? "All of it was already redacted." : redactedText);
  if (summaries.length > 0) {
    await writeLine(
      progress,
      `Summaries may repeat the content. Check these positions, and redact them too: ${summaries.join(", ")}.`,
    );
  }
  return DONE;
}

function rangeText({ from, to }: PositionRange): string {
  return from === to ? String(from) : `${from}-${to}`;
}
