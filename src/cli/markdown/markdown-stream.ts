/**
 * Shows Markdown while it streams: a block is final when a line of the next one is complete. Until then it may
 * become something else (a paragraph a heading, a row a table), so it is redrawn with each piece. Pure.
 */

import stringWidth from "string-width";
import bash from "refractor/bash";
import css from "refractor/css";
import diff from "refractor/diff";
import go from "refractor/go";
import java from "refractor/java";
import javascript from "refractor/javascript";
import json from "refractor/json";
import markup from "refractor/markup";
import python from "refractor/python";
import rust from "refractor/rust";
import sql from "refractor/sql";
import typescript from "refractor/typescript";
import yaml from "refractor/yaml";
import { lexer, type Token, type Tokens, type MarkedToken } from "marked";
import { wrapped } from "../terminal/cells.ts";
import type { Style } from "../output/output.ts";
import { refractor } from "refractor/core";

/** Rows to show now. */
interface Shown {
  /** Rows that stay. */
  readonly final: readonly string[];
  /** Rows that may still change. They replace those that were shown before. */
  readonly open: readonly string[];
}

export class MarkdownStream {
  readonly #look: Look;
  /** The source from the last block on. */
  #source = "";
  #hasBlocks = false;

  constructor(look: Look) {
    this.#look = look;
  }

  /** Takes a piece of the text, which is safe to show. */
  add(piece: string): Shown {
    this.#source += piece;
    const final = piece.includes("\n") ? this.#finished() : [];
    return { final, open: this.#rows(lexer(this.#source)) };
  }

  /** Ends the text. Returns the rows that were open. */
  end(): readonly string[] {
    const rows = this.#rows(lexer(this.#source));
    this.#source = "";
    this.#hasBlocks = false;
    return rows;
  }

  /** Takes the blocks that cannot change any more. */
  #finished(): readonly string[] {
    const lines = this.#source.slice(0, this.#source.lastIndexOf("\n") + 1);
    const blocks = lexer(lines);
    const last = blocks.findLastIndex(isShown);
    const begin = lines.lastIndexOf(blocks[last]?.raw ?? lines);
    if (begin <= 0) return [];
    const rows = this.#rows(blocks.slice(0, last));
    this.#source = this.#source.slice(begin);
    this.#hasBlocks ||= rows.length > 0;
    return rows;
  }

  /** Rows of whole blocks, with an empty row between two. */
  #rows(blocks: readonly Token[]): readonly string[] {
    return blocks
      .map((block) => blockRows(block, this.#look))
      .filter((rows) => rows.length > 0)
      .flatMap((rows, index) => (this.#hasBlocks || index > 0 ? ["", ...rows] : rows));
  }
}

function isShown({ type }: Token): boolean {
  return type !== "space" && type !== "def";
}

// One block as rows of a terminal.

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

/** The width of rows in cells, and the styles that the terminal has. */
export interface Look {
  readonly columns: () => number;
  readonly style: (style: Style, text: string) => string;
}

/** Draws the text within a block: emphasis, code, links. */
function spanText(spans: readonly Token[], look: Look): string {
  return spans.map((span) => spanOf(span, look)).join("");
}

const kinds: ReadonlySet<string> = new Set<MarkedToken["type"]>([
  "blockquote",
  "br",
  "checkbox",
  "code",
  "codespan",
  "def",
  "del",
  "em",
  "escape",
  "heading",
  "hr",
  "html",
  "image",
  "link",
  "list",
  "list_item",
  "paragraph",
  "space",
  "strong",
  "table",
  "text",
]);

/** Whether a token is of Markdown itself, and not of an extension. */
function isOwn(token: Token): token is MarkedToken {
  return kinds.has(token.type);
}

function spanOf(span: Token, look: Look): string {
  if (!isOwn(span)) return span.raw;
  switch (span.type) {
    case "strong":
      return look.style("bold", spanText(span.tokens, look));
    case "em":
      return look.style("italic", spanText(span.tokens, look));
    case "del":
      return look.style("dim", spanText(span.tokens, look));
    case "codespan":
      return look.style("cyan", span.text);
    case "link": {
      const text = spanText(span.tokens, look);
      return span.href === text || span.href === `mailto:${text}`
        ? text
        : `${text} ${look.style("dim", `(${span.href})`)}`;
    }
    case "image":
      return `${span.text} ${look.style("dim", `(${span.href})`)}`;
    case "br":
      return "\n";
    case "text":
      return span.tokens === undefined ? span.text : spanText(span.tokens, look);
    case "escape":
      return span.text;
    default:
      return span.raw;
  }
}

const BETWEEN = " │ ";
/** A column is never made narrower than this, in cells. */
const LEAST = 4;

/** Draws a table: as wide as its words, and at most as wide as the terminal. */
function tableRows({ header, rows, align }: Tokens.Table, look: Look, columns: number): string[] {
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

for (const language of [
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markup,
  python,
  rust,
  sql,
  typescript,
  yaml,
])
  refractor.register(language);

const colours: Readonly<Record<string, Style>> = {
  "attr-name": "cyan",
  boolean: "yellow",
  builtin: "cyan",
  "class-name": "cyan",
  comment: "dim",
  deleted: "red",
  function: "blue",
  inserted: "green",
  keyword: "magenta",
  number: "yellow",
  property: "cyan",
  string: "green",
  tag: "magenta",
};

type Node = ReturnType<typeof refractor.highlight>["children"][number];

/** Colours code of the languages that agents write most. Other code is shown as it is. */
function codeRows({ text, lang = "" }: Tokens.Code, { style }: Look): string[] {
  const [language = ""] = lang.split(/[\s,{]/);
  if (!refractor.registered(language)) return text.split("\n");
  const { children } = refractor.highlight(text, language);
  return children
    .map((node) => nodeText(node, style))
    .join("")
    .split("\n");
}

function nodeText(node: Node, style: Look["style"]): string {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return "";
  const inside = node.children.map((one) => nodeText(one, style)).join("");
  const { className: names } = node.properties;
  const [, name = ""] = Array.isArray(names) ? names.map(String) : [];
  const colour = colours[name];
  if (colour === undefined) return inside;
  // A style ends with its row: rows are wrapped one by one.
  return inside
    .split("\n")
    .map((row) => (row === "" ? "" : style(colour, row)))
    .join("\n");
}
