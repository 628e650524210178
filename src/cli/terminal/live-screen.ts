/**
 * A terminal with a panel in its last rows and new lines above it; between them, rows of a text that may still
 * change. All output must go through here. Each change is one write, so that the screen does not flicker.
 */

import { breakRow, cellsOf, withoutTabs } from "./cells.ts";

/** The last rows of the screen. */
export interface Panel {
  readonly lines: readonly string[];
  /** Lines below the one with the cursor. */
  readonly below: number;
  /** Cells before the cursor. */
  readonly column: number;
}

export interface LiveScreenOptions {
  readonly write: (text: string) => Promise<void>;
  readonly columns: () => number;
  readonly rows: () => number;
}

const emptyPanel: Panel = { lines: [], below: 0, column: 0 };

const ERASE_BELOW = "\u001B[J";
const ERASE_SCREEN = "\u001B[H\u001B[2J";
// oxlint-disable-next-line no-control-regex
const style = /\u001B\[([\d;]*)m/g;
const endsStyle = /^(?:0?|2\d|39|49)$/;

export class LiveScreen {
  readonly #options: LiveScreenOptions;
  /** The last row of the unfinished line. */
  #open = "";
  /** Rows that may still change, each at most as wide as the screen was. */
  #changing: readonly string[] = [];
  #panel: Panel = emptyPanel;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
  }

  /** Writes a text that stays. The rows take the place of those of the last call. */
  write(text: string, changing: readonly string[] = []): Promise<void> {
    const erase = this.#erase();
    this.#changing = changing;
    const lines = `${this.#open}${text}`.replaceAll("\r\n", "\n").split("\n");
    const last = lines.pop() ?? "";
    let ended = "";
    for (const line of lines) ended += `${withoutTabs(line)}\n`;
    let open = activeStyle(ended) + withoutTabs(last);
    // Full rows need no redraw: the terminal wraps them.
    for (
      let broken = breakRow(open, this.#options.columns());
      broken !== undefined;
      broken = breakRow(open, this.#options.columns())
    ) {
      const [row, rest] = broken;
      ended += row;
      open = activeStyle(row) + rest;
    }
    this.#open = open;
    return this.#options.write(erase + ended + this.#drawn());
  }

  draw(panel: Panel): Promise<void> {
    const erase = this.#erase();
    this.#panel = panel;
    return this.#options.write(erase + this.#drawn());
  }

  /** Erases the screen, and redraws the changing rows at its top. */
  clear(): Promise<void> {
    return this.#options.write(ERASE_SCREEN + this.#drawn());
  }

  /** Removes the panel, keeps the rows above it, and ends the unfinished line. */
  async close(): Promise<void> {
    await this.draw(emptyPanel);
    await this.write(this.#changing.map((row) => `${row}\n`).join(""));
    if (cellsOf(this.#open) > 0) await this.write("\n");
  }

  /** Moves to the start of the unfinished line's last row, at any width. */
  #erase(): string {
    const { lines, below, column } = this.#panel;
    const columns = this.#options.columns();
    const rows = (line: string): number => Math.max(1, Math.ceil(cellsOf(line) / columns));
    const drawn = this.#lines();
    let up = drawn.slice(0, -1 - below).reduce((sum, line) => sum + rows(line), 0);
    if (lines.length > 0) up += Math.floor(column / columns);
    else if (this.#changing.length > 0) up += rows(drawn.at(-1) ?? "") - 1;
    return `\r${up > 0 ? `\u001B[${up}A` : ""}${ERASE_BELOW}`;
  }

  #drawn(): string {
    const { lines, below, column } = this.#panel;
    const drawn = this.#lines().join("\n");
    if (lines.length === 0) return drawn;
    const up = below > 0 ? `\u001B[${below}A` : "";
    return `${drawn}\r${up}${column > 0 ? `\u001B[${column}C` : ""}`;
  }

  /** The rows that are redrawn with each change. */
  #lines(): readonly string[] {
    const { lines } = this.#panel;
    // Rows above the top of the screen cannot be erased.
    const most = Math.max(0, this.#options.rows() - lines.length - 1);
    const changing = most === 0 ? [] : this.#changing.slice(-most);
    if (lines.length === 0 && changing.length === 0) return [this.#open];
    const open = cellsOf(this.#open) > 0 ? [this.#open] : [];
    // A style may be on at the start of an empty line.
    const [first = "", ...rest] = [...changing, ...lines];
    return open.length > 0 ? [...open, first, ...rest] : [this.#open + first, ...rest];
  }
}

/** The styles that are still on at the end of a text, to repeat on the next row. */
function activeStyle(text: string): string {
  let active = "";
  for (const [sequence, code = ""] of text.matchAll(style)) {
    // Our styles do not nest: the end of one ends all.
    active = endsStyle.test(code) ? "" : active + sequence;
  }
  return active;
}
