/**
 * A terminal with a panel in its last rows and new lines above it. All output must go through here.
 * Each change is one write, so that the screen does not flicker.
 */

import { breakRow, cellsOf, withoutTabs } from "./cells.ts";

/** The last rows of the screen. The cursor is in the last one. */
export interface Panel {
  readonly lines: readonly string[];
  /** Cells before the cursor. */
  readonly column: number;
}

export interface LiveScreenOptions {
  readonly write: (text: string) => Promise<void>;
  readonly columns: () => number;
}

const emptyPanel: Panel = { lines: [], column: 0 };

const ERASE_BELOW = "\u001B[J";
// oxlint-disable-next-line no-control-regex
const style = /\u001B\[([\d;]*)m/g;
const endsStyle = /^(?:0?|2\d|39|49)$/;

export class LiveScreen {
  readonly #options: LiveScreenOptions;
  /** The last row of the unfinished line. */
  #open = "";
  #panel: Panel = emptyPanel;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
  }

  write(text: string): Promise<void> {
    const erase = this.#erase();
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

  /** Removes the panel and ends the unfinished line. */
  async close(): Promise<void> {
    await this.draw(emptyPanel);
    if (cellsOf(this.#open) > 0) await this.write("\n");
  }

  /** Moves to the start of the unfinished line's last row, at any width. */
  #erase(): string {
    const { lines, column } = this.#panel;
    const columns = this.#options.columns();
    const above = lines.length === 0 ? [] : [...this.#openLine(), ...lines.slice(0, -1)];
    let up = Math.floor(column / columns);
    for (const line of above) up += Math.max(1, Math.ceil(cellsOf(line) / columns));
    return `\r${up > 0 ? `\u001B[${up}A` : ""}${ERASE_BELOW}`;
  }

  #drawn(): string {
    const { lines, column } = this.#panel;
    if (lines.length === 0) return this.#open;
    const open = cellsOf(this.#open) > 0 ? `${this.#open}\n` : this.#open;
    return `${open}${lines.join("\n")}\r${column > 0 ? `\u001B[${column}C` : ""}`;
  }

  #openLine(): readonly string[] {
    return cellsOf(this.#open) > 0 ? [this.#open] : [];
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
