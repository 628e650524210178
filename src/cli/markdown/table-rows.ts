/** Draws a table: as wide as its words, and at most as wide as the terminal. Pure. */

import type { Tokens } from "marked";
import stringWidth from "string-width";
import { wrapped } from "../terminal/wrapped-text.ts";
import type { Look } from "./look.ts";
import { spanText } from "./span-text.ts";

const BETWEEN = " │ ";
/** A column is never made narrower than this, in cells. */
const LEAST = 4;

export function tableRows(
  { header, rows, align }: Tokens.Table,
  look: Look,
  columns: number,
): string[] {
  const lines = [header, ...rows].map((cells) => cells.map(({ tokens }) => spanText(tokens, look)));
  const widths = fitting(
    align.map((_, column) => Math.max(1, ...lines.map((line) => stringWidth(line[column] ?? "")))),
    columns - BETWEEN.length * (align.length - 1),
  );
  const drawn = lines.map((line, index) =>
    rowOf(
      line.map((cell) => (index === 0 ? look.style("bold", cell) : cell)),
      widths,
      align,
    ),
  );
  const rule = look.style("dim", widths.map((width) => "─".repeat(width)).join("─┼─"));
  const [head = [], ...body] = drawn;
  return [...head, rule, ...body.flat()];
}

/** Takes from the widest columns until all fit. */
function fitting(widths: readonly number[], room: number): readonly number[] {
  const fitted = [...widths];
  for (let over = fitted.reduce((sum, width) => sum + width, 0) - room; over > 0; over--) {
    const widest = Math.max(...fitted);
    if (widest <= LEAST) break;
    fitted[fitted.indexOf(widest)] = widest - 1;
  }
  return fitted;
}

/** A line of the table: several rows where a cell is longer than its column. */
function rowOf(
  cells: readonly string[],
  widths: readonly number[],
  align: Tokens.Table["align"],
): string[] {
  const broken = cells.map((cell, column) => wrapped(cell, widths[column] ?? LEAST));
  const height = Math.max(1, ...broken.map((rows) => rows.length));
  return Array.from({ length: height }, (_, row) =>
    widths
      .map((width, column) => aligned(broken[column]?.[row] ?? "", width, align[column] ?? null))
      .join(BETWEEN)
      .trimEnd(),
  );
}

function aligned(text: string, width: number, align: Tokens.TableCell["align"]): string {
  const free = Math.max(0, width - stringWidth(text));
  const before = align === "right" ? free : align === "center" ? Math.floor(free / 2) : 0;
  return " ".repeat(before) + text + " ".repeat(free - before);
}
