/**
 * A terminal whose last rows are a panel that stands while lines come in above it. Everything that is
 * written goes through here; each change is one write, so that nothing flickers or comes in between.
 */

import { breakRow, cellsOf, withoutTabs } from "./cells.ts";

/** Rows that are drawn anew each time; the cursor stands in the last of them. */
export interface Panel {
  readonly lines: readonly string[];
  /** Cells before the cursor. */
  readonly column: number;
}

export interface LiveScreenOptions {
  readonly write: (text: string) => Promise<void>;
  /** Cells in a row of the terminal, as it is now. */
  readonly columns: () => number;
}

const none: Panel = { lines: [], column: 0 };

const ERASE_BELOW = "\u001B[J";
// oxlint-disable-next-line no-control-regex
const look = /\u001B\[([\d;]*)m/g;
const endsLook = /^(?:0?|2\d|39|49)$/;

export class LiveScreen {
  readonly #options: LiveScreenOptions;
  /** The line that is being written and has not ended: only what stands on its last row. */
  #open = "";
  #panel: Panel = none;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
  }

  /** Writes text above the panel, where the last text ended. */
  write(text: string): Promise<void> {
    const erase = this.#erase();
    const lines = `${this.#open}${text}`.replaceAll("\r\n", "\n").split("\n");
    const last = lines.pop() ?? "";
    let ended = "";
    for (const line of lines) ended += `${withoutTabs(line)}\n`;
    let open = activeLook(ended) + withoutTabs(last);
    // Rows that are full are left to the terminal: it wraps the line as it does any other.
    for (
      let broken = breakRow(open, this.#options.columns());
      broken !== undefined;
      broken = breakRow(open, this.#options.columns())
    ) {
      const [row, rest] = broken;
      ended += row;
      open = activeLook(row) + rest;
    }
    this.#open = open;
    return this.#options.write(erase + ended + this.#drawn());
  }

  /** Puts another panel in the place of this one. */
  draw(panel: Panel): Promise<void> {
    const erase = this.#erase();
    this.#panel = panel;
    return this.#options.write(erase + this.#drawn());
  }

  /** Takes the panel off, and begins a line where one had not ended. */
  async close(): Promise<void> {
    await this.draw(none);
    if (cellsOf(this.#open) > 0) await this.write("\n");
  }

  /** Goes to where the open line's last row begins, whatever width it was drawn at. */
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

/** The looks that are still on at the end of a text: what follows is drawn again without it. */
function activeLook(text: string): string {
  let active = "";
  for (const [sequence, code = ""] of text.matchAll(look)) {
    // Our looks are not put into each other: the end of one is the end of all.
    active = endsLook.test(code) ? "" : active + sequence;
  }
  return active;
}
