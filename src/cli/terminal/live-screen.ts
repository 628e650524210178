/**
 * A terminal with a panel in its last rows and new lines above it; between them, rows of a text that may still
 * change. All output must go through here. Each change is one write and one frame, and leaves alone the rows above
 * the first that differs, so that the screen does not flicker.
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
/** Terminals that know these marks show what is between them at once; others ignore them. */
const FRAME = ["\u001B[?2026h", "\u001B[?2026l"] as const;
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
  /** What was drawn last, and the line of the cursor in it. */
  #drawn: { readonly lines: readonly string[]; readonly at: number; readonly columns: number } = {
    lines: [""],
    at: 0,
    columns: 0,
  };

  constructor(options: LiveScreenOptions) {
    this.#options = options;
  }

  /** Writes a text that stays. The rows take the place of those of the last call. */
  write(text: string, changing: readonly string[] = []): Promise<void> {
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
    return this.#replace(ended, this.#panel);
  }

  draw(panel: Panel): Promise<void> {
    return this.#replace("", panel);
  }

  /** Erases the screen, and redraws the changing rows at its top. */
  clear(): Promise<void> {
    return this.#show(ERASE_SCREEN, this.#lines(), 0);
  }

  /** Removes the panel, keeps the rows above it, and ends the unfinished line. */
  async close(): Promise<void> {
    await this.draw(emptyPanel);
    await this.write(this.#changing.map((row) => `${row}\n`).join(""));
    if (cellsOf(this.#open) > 0) await this.write("\n");
  }

  /** Shows a text that stays, and the drawing with this panel, in place of the last drawing; at any width. */
  #replace(ended: string, panel: Panel): Promise<void> {
    const columns = this.#options.columns();
    const { lines: old, at } = this.#drawn;
    const line = old[at] ?? "";
    const cells = this.#panel.lines.length > 0 ? this.#panel.column : cellsOf(line) - 1;
    this.#panel = panel;
    const lines = `${ended}${this.#lines().join("\n")}`.split("\n");
    const most = this.#drawn.columns === columns ? Math.min(at, lines.length - 1) : 0;
    let same = 0;
    while (same < most && lines[same] === old[same]) same++;
    const rows = (one: string): number => Math.max(1, Math.ceil(cellsOf(one) / columns));
    const up = old
      .slice(same, at)
      .reduce((sum, one) => sum + rows(one), Math.floor(Math.max(0, cells) / columns));
    return this.#show(`\r${up > 0 ? `\u001B[${up}A` : ""}${ERASE_BELOW}`, lines, same);
  }

  /** Writes the lines after the first ones, which stay, and moves the cursor to its place. */
  #show(erase: string, lines: readonly string[], same: number): Promise<void> {
    const { lines: inPanel, below, column } = this.#panel;
    const drawn = this.#lines();
    const isPanel = inPanel.length > 0;
    this.#drawn = {
      lines: drawn,
      at: drawn.length - 1 - (isPanel ? below : 0),
      columns: this.#options.columns(),
    };
    const up = below > 0 ? `\u001B[${below}A` : "";
    const place = isPanel ? `\r${up}${column > 0 ? `\u001B[${column}C` : ""}` : "";
    const text = activeStyle(lines.slice(0, same).join("\n")) + lines.slice(same).join("\n");
    return this.#options.write(FRAME[0] + erase + text + place + FRAME[1]);
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
