/** The matrix as the page `docs/crossings.md`: written from outcomes, and read again to hold cells against it. */

import { acts } from "./acts.ts";
import type { Outcome } from "./cell.ts";
import { nameOf, tables, type Column } from "./cells.ts";

/** Where the page is kept, from the repository's root. */
export const pagePath = "docs/crossings.md";

/** What is known of a cell, by its name. */
export type Outcomes = ReadonlyMap<string, Outcome>;

const marks = { passes: "✓", refused: "r", impossible: "–" } as const;
type Footnoted = "refused" | "impossible";

/** @throws Error if a cell has no outcome, or fails */
export function writePage(outcomes: Outcomes): string {
  const notes: Record<Footnoted, string[]> = { refused: [], impossible: [] };
  const markOf = (name: string): string => {
    const outcome = outcomes.get(name);
    if (outcome === undefined || outcome.kind === "fails")
      throw new Error(`${name} does not pass.`);
    if (outcome.kind === "passes") return marks.passes;
    const known = notes[outcome.kind];
    if (!known.includes(outcome.why)) known.push(outcome.why);
    return `${marks[outcome.kind]}${known.indexOf(outcome.why) + 1}`;
  };
  const written = tables.map(({ title, columns }) => {
    const rows = acts.map((act) => [
      act.name,
      ...columns.map((column) => markOf(nameOf({ act, ...column }))),
    ]);
    return `## ${title}\n\n${legendOf(columns)}\n\n${tableOf(columns, rows)}`;
  });
  const footnotes = (kind: Footnoted): string =>
    notes[kind].map((why, index) => `- **${marks[kind]}${index + 1}** ${why}`).join("\n");
  return `# Every crossing

What happens when something is done to a session while it does something else, wherever it is: each cell is run on a real runtime, then everything that was left runs to its end, the laws of [the design](design.md#the-laws) are checked for every session of the store, a new message is answered, and the log is opened again. \`TURNLOG_RECORD=1 npx vitest run test/crossings\` runs all cells and writes this page; \`npm test\` runs a sample and holds it against the page.

**✓** it passes · **r** it is refused by design, by the error below · **–** it is impossible, for the reason below. Numbers in an error are written as n, and the session is s.

${written.join("\n\n")}

## Refused by design

${footnotes("refused")}

## Impossible

${footnotes("impossible")}
`;
}

/** The circumstances by the numbers of their columns. */
function legendOf(columns: readonly Column[]): string {
  return columns.map(({ name }, index) => `${index + 1}. ${name}`).join("\n");
}

function tableOf(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const head = ["act", ...columns.map((_, index) => `${index + 1}`)];
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** What the page says of each cell. */
export function readPage(page: string): Outcomes {
  const notes = new Map(
    [...page.matchAll(/^- \*\*([r–]\d+)\*\* (.*)$/gm)].map(([, mark = "", why = ""]) => [
      mark,
      why,
    ]),
  );
  const outcomeOf = (mark: string): Outcome => {
    const why = notes.get(mark) ?? "";
    if (mark === marks.passes) return { kind: "passes" };
    return { kind: mark.startsWith(marks.refused) ? "refused" : "impossible", why };
  };
  const sections = page.split(/^## /m).slice(1);
  return new Map(
    tables.flatMap(({ title, columns }) => {
      const section = sections.find((one) => one.startsWith(`${title}\n`)) ?? "";
      const rows = new Map(
        section.matchAll(/^\| (.+) \|$/gm).map(([, row = ""]) => {
          const [name = "", ...cells] = row.split(" | ");
          return [name, cells] as const;
        }),
      );
      return acts.flatMap((act) =>
        columns.flatMap((column, index) => {
          const mark = rows.get(act.name)?.[index];
          return mark === undefined ? [] : [[nameOf({ act, ...column }), outcomeOf(mark)] as const];
        }),
      );
    }),
  );
}
