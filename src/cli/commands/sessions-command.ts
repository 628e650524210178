/** `turnlog sessions`: lists the sessions of a store, newest first. Reads events only of unfinished turns. */

import { listSessions, withQuestions, type SessionRow } from "../../state/index.ts";
import { isOfOwner } from "../owner/owner-log.ts";
import type { EncryptedLog } from "../../store/encryption/index.ts";
import { openSessions, storeName } from "../settings/store-folder.ts";
import { writeLine, writeLines, type Channel, type Output } from "../output/output.ts";
import { jsonText, visibleName, visibleText } from "../output/visible-text.ts";
import { amount, dateAndTime, excerpt, figure } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import type { limit as limitOption } from "./command-options.ts";

export async function sessions(
  { json, limit, ...place }: Given<[typeof limitOption]>,
  { data, progress }: Output,
): Promise<void> {
  await using log = await openSessions(place, { readOnly: true, withoutKey: "redact" });
  const found = await Array.fromAsync(listSessions(log));
  const newest = found.toSorted((one, other) => other.updatedAt - one.updatedAt).slice(0, limit);
  const rows = await Promise.all(newest.map((session) => withQuestions(log, session)));
  if (json)
    await writeLines(
      data,
      rows.map((session) => jsonText(session)),
    );
  else if (rows.length === 0) await writeLine(progress, `${storeName(place)} has no sessions yet.`);
  else await writeLines(data, sessionTable(rows, data, await runningIn(log)));
}

/** Whether a living process may run a session: one has the store open, or, in a database, the session. */
async function runningIn(log: EncryptedLog): Promise<(session: string) => boolean> {
  const taken = await log.ownership?.taken?.();
  const isOpen = isOfOwner(log.stored);
  return (session) => taken?.has(session) ?? isOpen;
}

/** The least width of the id column: generated names fit. */
const ID_WIDTH = 20;

/** `isRun`: whether a living process may run a session. */
export function sessionTable(
  found: readonly SessionRow[],
  data: Channel,
  isRun: (session: string) => boolean = () => false,
): readonly string[] {
  const rows = found.map((session) => [
    session.session,
    dateAndTime(session.updatedAt),
    visibleName(statusOf(session, isRun(session.session))),
    amount(session.turns, "turn"),
    `${figure(session.total.inputTokens + session.total.outputTokens)} tokens`,
  ]);
  // One long name must not push the other columns off the terminal; a pipe gets full columns.
  const { columns } = data;
  const widest = columns === undefined ? Infinity : Math.max(ID_WIDTH, Math.floor(columns / 3));
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(
      0,
      ...rows
        .map((row) => row[column]?.length ?? 0)
        .filter((length) => column > 0 || length <= widest),
    ),
  );
  return rows.flatMap((row, index) => {
    const [id = "", ...rest] = row.map((cell, column) =>
      column > 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    const facts = rest.join("  ");
    const taken = (widths[0] ?? 0) + facts.length + 4;
    const titleWidth = columns === undefined ? 80 : Math.max(20, columns - taken);
    const { title = "", problem, parent } = found[index] ?? {};
    const by = parent === undefined ? "" : `[${parent.toolName} of ${parent.session}] `;
    const shownTitle = excerpt(visibleText(problem?.message ?? `${by}${title}`), titleWidth);
    const details = `${data.style("dim", facts)}  ${shownTitle}`.trimEnd();
    const name = data.style("bold", id);
    // Names are never cut: people copy them.
    return id.length > widest
      ? [name, `${" ".repeat(widths[0] ?? 0)}  ${details}`]
      : [`${name}  ${details}`];
  });
}

function statusOf({ status, lastEnd, problem, ...awaited }: SessionRow, isRun: boolean): string {
  if (problem !== undefined) return "unreadable";
  switch (status) {
    case "awaiting-approval":
      return `waits for approval: ${toolsOf(awaited.awaitingApproval)}`;
    case "awaiting-output":
      return `waits for output: ${toolsOf(awaited.awaitingOutput)}`;
    case "awaiting-budget":
      return "waits for more budget";
    case "closed":
      return "closed";
    case "running":
      return isRun ? "running" : "cut off";
    case "idle":
      return lastEnd === undefined || lastEnd === "stop" ? "idle" : lastEnd;
  }
}

function toolsOf(calls: readonly { readonly toolName: string }[] = []): string {
  return [...new Set(calls.map(({ toolName }) => toolName))].join(", ");
}
