/** `turnlog delete`: deletes a session permanently, after confirmation. */

import { shellWord, TurnlogError, type EventLog } from "../../events/index.ts";
import { waitsForAnswer } from "../../state/index.ts";
import { DONE, INTERRUPTED, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { assertCanConfirm, isConfirmed } from "../output/question.ts";
import { jsonText } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import type { deleteOptions } from "./command-options.ts";

const inTheOtherProcess =
  "A session of a store in use can be deleted by its own process: `runtime.delete(session)` in a program.";

/** @throws TurnlogError `COMMAND_REFUSED` where a turn waits for an approval, and as `EventLog.delete` */
export async function deleteSession(
  session: string,
  { json, yes, cancel, forks, ...options }: Given<typeof deleteOptions>,
  { data, progress }: Output,
): Promise<ExitCode> {
  if (options.olderThan !== undefined || options.where !== undefined || options.dryRun)
    throw new UsageError(
      "--older-than, --where and --dry-run choose among all sessions: use them without the name of a session.",
    );
  if (!yes)
    assertCanConfirm(
      progress,
      `Nothing was deleted: this needs a confirmation, and there is no terminal to ask for it. Add --yes to delete ${session}.`,
    );
  await using port = await openPort(options, { elsewhere: inTheOtherProcess });
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
