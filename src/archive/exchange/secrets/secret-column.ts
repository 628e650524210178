/** Finds secrets in the rows of tables and CSV by the header of their column. Pure. */

import { nameKind } from "./secret-names.ts";
import { isSecretValue } from "./secret-values.ts";
import type { Range, SecretRule } from "./pattern-rule.ts";

const LINE = /[^\n]+/g;
const MOST_COLUMNS = 40;

interface Column {
  readonly index: number;
  readonly name: string;
}

interface Header {
  readonly sign: string;
  readonly count: number;
  readonly columns: readonly Column[];
}

/** Programs print tables with `|` between their cells, and files have commas, semicolons or tabs. */
const SIGNS = ["|", ",", ";", "\t"];

export const secretColumn: SecretRule = {
  name: "named-secrets",
  find(text) {
    const found: Range[] = [];
    let header: Header | undefined;
    for (const { index, 0: line } of text.matchAll(LINE)) {
      // The line between the header and the rows.
      if (header?.sign === "|" && /^[\s|+:-]+$/.test(line)) continue;
      const ranges = header === undefined ? undefined : valuesOf(header, line, index);
      if (ranges === undefined) header = headerOf(line);
      else found.push(...ranges);
    }
    return found;
  },
};

/** A line of names, of which one asks for a secret. */
function headerOf(line: string): Header | undefined {
  if (line.length > 2000) return undefined;
  for (const sign of SIGNS) {
    const cells = line.split(sign);
    if (cells.length < 2 || cells.length > MOST_COLUMNS) continue;
    const names = cells.map(bare);
    // Sentences have commas too.
    const name = sign === "|" ? /^[\w .-]{0,40}$/ : /^[\w.-]{1,40}$/;
    if (!names.every((one) => name.test(one))) continue;
    const columns = names
      .map((name, index) => ({ index, name }))
      .filter(({ name }) => nameKind(name) !== undefined);
    if (columns.length > 0) return { sign, count: cells.length, columns };
  }
  return undefined;
}

/** The secrets of a row; undefined if the line is not a row. */
function valuesOf(
  { sign, count, columns }: Header,
  line: string,
  from: number,
): Range[] | undefined {
  const cells = line.split(sign);
  if (cells.length !== count) return undefined;
  return columns.flatMap(({ index, name }): readonly Range[] => {
    const kind = nameKind(name);
    const cell = cells[index] ?? "";
    const value = bare(cell);
    if (kind === undefined || !isSecretValue(value, kind, "assigned")) return [];
    const before = cells.slice(0, index).reduce((sum, one) => sum + one.length + sign.length, 0);
    const start = from + before + cell.indexOf(value);
    return [[start, start + value.length]];
  });
}

function bare(cell: string): string {
  return cell.trim().replaceAll(/^["'`*]+|["'`*]+$/g, "");
}
