/** Draws one block of Markdown as rows of a terminal. Pure. */

import type { Token, Tokens } from "marked";
import { codeRows } from "./code-rows.ts";
import { wrapped } from "../terminal/wrapped-text.ts";
import type { Look } from "./look.ts";
import { isOwn, spanText } from "./span-text.ts";
import { tableRows } from "./table-rows.ts";

export function blockRows(block: Token, look: Look, columns: number = look.columns()): string[] {
  if (!isOwn(block)) return wrapped(block.raw, columns);
  switch (block.type) {
    case "heading":
      return wrapped(look.style(["bold", "cyan"], spanText(block.tokens, look)), columns);
    case "code":
      return codeRows(block, look).flatMap((row) => wrapped(`  ${row}`, columns, "all"));
    case "list":
      return listRows(block, look, columns);
    case "blockquote":
      return quoteRows(block, look, columns);
    case "table":
      return tableRows(block, look, columns);
    case "hr":
      return [look.style("dim", "─".repeat(Math.min(columns, 40)))];
    case "paragraph":
      return wrapped(spanText(block.tokens, look), columns);
    case "text":
      return wrapped(
        block.tokens === undefined ? block.text : spanText(block.tokens, look),
        columns,
      );
    case "html":
      return wrapped(block.text.replace(/\n$/, ""), columns);
    default:
      return [];
  }
}

function listRows({ items, ordered, start, loose }: Tokens.List, look: Look, columns: number) {
  return items.flatMap((item, index) => {
    const number = ordered ? `${Number(start) + index}. ` : "• ";
    const box = item.task ? (item.checked === true ? "☑ " : "☐ ") : "";
    const marker = number + box;
    const blocks = item.tokens.filter(({ type }) => type !== "checkbox" && type !== "space");
    const rows = blocks.flatMap((block, place) => [
      ...(place > 0 && loose ? [""] : []),
      ...blockRows(block, look, columns - marker.length),
    ]);
    const indented =
      rows.length === 0
        ? [marker]
        : rows.map((row, place) => {
            if (place === 0) return look.style("cyan", marker) + row;
            return row === "" ? "" : " ".repeat(marker.length) + row;
          });
    return loose && index > 0 ? ["", ...indented] : indented;
  });
}

function quoteRows({ tokens }: Tokens.Blockquote, look: Look, columns: number): string[] {
  const bar = look.style("dim", "│ ");
  const blocks = tokens.filter(({ type }) => type !== "space");
  return blocks.flatMap((block, place) => [
    ...(place > 0 ? [bar] : []),
    ...blockRows(block, look, columns - 2).map((row) => bar + row),
  ]);
}
