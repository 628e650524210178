/** What a terminal shows of what was written to it: enough of one for what the command line writes. */
import { piecesOf } from "../../src/cli/terminal/cells.ts";

export interface EmulatedScreen {
  readonly write: (text: string) => Promise<void>;
  /** The rows from the first that was written to, without spaces at their ends. */
  rows(): readonly string[];
  /** What rang or was notified. */
  readonly rings: readonly string[];
  /** The row and cell of the cursor, from 0. */
  cursor(): readonly [number, number];
}

const sequence =
  // oxlint-disable-next-line no-control-regex
  /^\u001B\[(\d*)([A-Z]|m)|^\u001B\[(?:[\d;]*m|\?2026[hl])|^(?:\u001B\]9;[^\u0007]*)?\u0007/;

/** @param columns - Cells in a row; there is no last row. */
export function emulatedScreen(columns: number): EmulatedScreen {
  const cells: string[][] = [[]];
  const rings: string[] = [];
  let row = 0;
  let column = 0;

  function print(text: string, width: number): void {
    if (width === 0) return;
    // A full row is left only when something follows.
    if (column + width > columns) {
      row += 1;
      column = 0;
    }
    const line = (cells[row] ??= []);
    line[column] = text;
    for (let behind = 1; behind < width; behind++) line[column + behind] = "";
    column += width;
  }

  function obey(count: number, command: string): void {
    if (command === "A") row = Math.max(0, row - count);
    else if (command === "C") column = Math.min(columns - 1, column + count);
    else if (command === "J") {
      cells.length = row + 1;
      const line = (cells[row] ??= []);
      line.length = Math.min(line.length, column);
    } else throw new Error(`This screen does not know ${JSON.stringify(command)}.`);
  }

  return {
    rings,
    write: async (text) => {
      let rest = text;
      while (rest !== "") {
        const found = sequence.exec(rest);
        if (found !== null) {
          const [whole, count, command] = found;
          if (whole.endsWith("\u0007")) rings.push(whole);
          if (command !== undefined && command !== "m") obey(Number(count) || 1, command);
          rest = rest.slice(whole.length);
        } else if (rest.startsWith("\r")) {
          column = 0;
          rest = rest.slice(1);
        } else if (rest.startsWith("\n")) {
          row += 1;
          column = 0;
          cells[row] ??= [];
          rest = rest.slice(1);
        } else {
          // oxlint-disable-next-line no-control-regex
          const plain = /^[^\u001B\r\n]+/.exec(rest)?.[0];
          if (plain === undefined) throw new Error(`No character: ${JSON.stringify(rest)}`);
          for (const piece of piecesOf(plain)) print(piece.text, piece.cells);
          rest = rest.slice(plain.length);
        }
      }
    },
    rows: () =>
      cells.map((line) =>
        Array.from(line, (cell) => cell ?? " ")
          .join("")
          .trimEnd(),
      ),
    cursor: () => [row, column],
  };
}
