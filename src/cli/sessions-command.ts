/** `turnlog sessions`: what sessions a store has, the newest first. Reads the list, not the events. */

import { z } from "zod";
import { listSessions, type ListedSession } from "../runtime/index.ts";
import { shown, writeLine, writeLines, type Channel, type Output } from "./output.ts";
import { openSessions } from "./store-folder.ts";
import { amount, dateAndTime, excerpt, figure } from "./wording.ts";

const optionsSchema = z.object({
  dir: z.string(),
  keys: z.string().optional(),
  json: z.boolean().default(false),
});

/** @throws TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_DAMAGED` */
export async function sessions(given: unknown, { data, progress }: Output): Promise<void> {
  const { dir, keys, json } = optionsSchema.parse(given);
  await using log = await openSessions({ dir, keys }, { withoutKey: "redact" });
  const found = await Array.fromAsync(listSessions(log));
  const newest = found.toSorted((one, other) => other.updatedAt - one.updatedAt);
  if (json)
    await writeLines(
      data,
      newest.map((session) => JSON.stringify(session)),
    );
  else if (newest.length === 0)
    await writeLine(progress, `The store in ${dir} has no sessions yet.`);
  else await writeLines(data, table(newest, data));
}

function table(found: readonly ListedSession[], data: Channel): readonly string[] {
  const rows = found.map((session) => [
    session.session,
    dateAndTime(session.updatedAt),
    statusOf(session),
    amount(session.turns, "turn"),
    `${figure(session.total.inputTokens + session.total.outputTokens)} tokens`,
  ]);
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row, index) => {
    const [id = "", ...rest] = row.map((cell, column) =>
      // Figures stand at the right of their column.
      column > 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    const facts = rest.join("  ");
    const taken = id.length + facts.length + 4;
    const room = data.columns === undefined ? 80 : Math.max(20, data.columns - taken);
    const title = excerpt(shown(data, found[index]?.title ?? ""), room);
    return `${data.style("bold", id)}  ${data.style("dim", facts)}  ${title}`.trimEnd();
  });
}

function statusOf({ status, lastEnd }: ListedSession): string {
  switch (status) {
    case "closed":
      return "closed";
    case "running":
      // Nobody else can have the store open: whoever ran it is gone.
      return "cut off";
    case "idle":
      return lastEnd === undefined || lastEnd === "stop" ? "idle" : lastEnd;
  }
}
