/** The sessions of a store as a table, a row each. Pure. */

import type { Approval, ListedSession } from "../../state/index.ts";
import { type Channel, visibleName, visibleText } from "../output/index.ts";
import { amount, dateAndTime, excerpt, figure } from "../wording/index.ts";

/** With the approvals that it waits for. */
export interface SessionRow extends ListedSession {
  readonly awaitingApproval?: readonly Approval[];
}

/** The narrowest column of ids: what is made up for a new session fits. */
const ID_WIDTH = 20;

export function sessionTable(found: readonly SessionRow[], data: Channel): readonly string[] {
  const rows = found.map((session) => [
    session.session,
    dateAndTime(session.updatedAt),
    visibleName(statusOf(session)),
    amount(session.turns, "turn"),
    `${figure(session.total.inputTokens + session.total.outputTokens)} tokens`,
  ]);
  // One long name would push all others out of a terminal; whoever reads a pipe wants columns.
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
      // Figures stand at the right of their column.
      column > 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    const facts = rest.join("  ");
    const taken = (widths[0] ?? 0) + facts.length + 4;
    const room = columns === undefined ? 80 : Math.max(20, columns - taken);
    const { title: said = "", problem } = found[index] ?? {};
    const title = excerpt(visibleText(problem?.message ?? said), room);
    const told = `${data.style("dim", facts)}  ${title}`.trimEnd();
    const name = data.style("bold", id);
    // Never cut: a name is there to be copied.
    return id.length > widest
      ? [name, `${" ".repeat(widths[0] ?? 0)}  ${told}`]
      : [`${name}  ${told}`];
  });
}

function statusOf({ status, lastEnd, problem, awaitingApproval = [] }: SessionRow): string {
  if (problem !== undefined) return "unreadable";
  if (awaitingApproval.length > 0) {
    const tools = new Set(awaitingApproval.map(({ toolName }) => toolName));
    return `waits for approval: ${[...tools].join(", ")}`;
  }
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
