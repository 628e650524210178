/** `turnlog sessions`: what sessions a store has, the newest first. Reads the list, and events only of turns that were left. */

import { z } from "zod";
import type { EventLog } from "../../events/index.ts";
import { listSessions, problemOf, viewSession, type ListedSession } from "../../state/index.ts";
import { openApprovals, openSessions, sessionOptions } from "../settings/index.ts";
import { writeLine, writeLines, type Output, jsonText } from "../output/index.ts";
import { sessionTable, type SessionRow } from "./session-table.ts";

const optionsSchema = z.object({
  ...sessionOptions,
  json: z.boolean().default(false),
  limit: z.int().positive().optional(),
});

/** @throws TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_TOO_NEW` */
export async function sessions(given: unknown, { data, progress }: Output): Promise<void> {
  const { dir, keys, takeOver, json, limit } = optionsSchema.parse(given);
  await using log = await openSessions(
    { dir, keys, takeOver },
    { readOnly: true, withoutKey: "redact" },
  );
  const found = await Array.fromAsync(listSessions(log));
  const newest = found.toSorted((one, other) => other.updatedAt - one.updatedAt).slice(0, limit);
  const rows = await Promise.all(newest.map((session) => withQuestions(log, session)));
  if (json)
    await writeLines(
      data,
      rows.map((session) => jsonText(session)),
    );
  else if (rows.length === 0) await writeLine(progress, `The store in ${dir} has no sessions yet.`);
  else await writeLines(data, sessionTable(rows, data));
}

/** A summary does not know whether a turn was cut off or waits for somebody. */
async function withQuestions(log: EventLog, session: ListedSession): Promise<SessionRow> {
  if (session.status !== "running") return session;
  try {
    const awaitingApproval = openApprovals(await viewSession(log, session.session));
    return awaitingApproval.length === 0 ? session : { ...session, awaitingApproval };
  } catch (error) {
    // One session's defect is not to hide the list of all; nobody can be asked about it either.
    return { ...session, problem: problemOf(error) };
  }
}
