/** A session as the lines of a file, read from its log as they are asked for. */

import { eventLine, headerLine, type EventLog } from "../../events/index.ts";
import { relinkedPlain } from "./relinked.ts";
import { checkPosition, readSummary } from "../session-view.ts";

/**
 * The lines of a session's file, without their ends: a header, then one event a line, of a fork also
 * those that it shares: it is whole wherever it is imported. What is recorded after the first line was
 * read is not in it. Of an encrypted session it is what was said, in plain text; its events as they are
 * stored are those of `EncryptedLog.stored`.
 * @throws TurnlogError `SESSION_NOT_FOUND`, and what `EventLog.read` throws
 */
export async function* exportSession(log: EventLog, session: string): AsyncGenerator<string> {
  await checkPosition(log, session);
  const events = await log.revision(session);
  const { forkedFrom } = await readSummary(log, session, events);
  yield headerLine({ session, events, ...(forkedFrom === undefined ? {} : { forkedFrom }) });
  const relinked = relinkedPlain(log);
  for await (const event of log.read(session, { to: events })) yield eventLine(relinked(event));
}
