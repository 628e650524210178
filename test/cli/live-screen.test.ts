/** Text that comes in above a panel, on a screen of any width. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { breakRow, cellsOf, cutToCells, rowsOfWords } from "../../src/cli/terminal/cells.ts";
import { LiveScreen, type Panel } from "../../src/cli/terminal/live-screen.ts";
import { emulatedScreen, type EmulatedScreen } from "./emulated-screen.ts";

const letters = ["a", "b", " ", "漢", "é", "👩‍👩‍👧", "ñ"];
const piece = fc
  .array(fc.constantFrom(...letters, "\n", "\u001B[2mdim\u001B[22m"), { maxLength: 30 })
  .map((parts) => parts.join(""));
const columns = fc.integer({ min: 12, max: 40 });

function panels(most: number): fc.Arbitrary<Panel> {
  const line = fc
    .array(fc.constantFrom(...letters), { maxLength: most })
    .map((parts) => cutToCells(parts.join(""), most - 1));
  return fc
    .record({
      lines: fc.array(line, { minLength: 1, maxLength: 5 }),
      at: fc.nat(most - 1),
      under: fc.nat(4),
    })
    .map(({ lines, at, under }) => {
      const below = Math.min(under, lines.length - 1);
      return { lines, below, column: Math.min(at, cellsOf(lines.at(-1 - below) ?? "")) };
    });
}

/** What is to be seen: the text as a terminal wraps it by itself, then the panel on rows of its own. */
async function expected(width: number, text: string, panel: Panel): Promise<EmulatedScreen> {
  const screen = emulatedScreen(width);
  await screen.write(text);
  const [, column] = screen.cursor();
  await screen.write(`${column > 0 ? "\n" : ""}${panel.lines.join("\n")}`);
  return screen;
}

interface Changing {
  readonly text: string;
  readonly rows: readonly string[];
}

/** Makes changes one after the other. Returns what stays, and the rows that may still change. */
async function play(
  live: LiveScreen,
  changes: readonly (string | Panel | Changing)[],
): Promise<Changing> {
  let text = "";
  let rows: readonly string[] = [];
  for (const change of changes) {
    if (typeof change !== "string" && "lines" in change) {
      await live.draw(change);
      continue;
    }
    const next = typeof change === "string" ? { text: change, rows: [] } : change;
    await live.write(next.text, next.rows);
    text += next.text;
    rows = next.rows;
  }
  return { text, rows };
}

describe("a screen with a panel", () => {
  const changing = (width: number) =>
    fc.record({
      text: piece.map((text) => `${text}\n`),
      rows: panels(width).map(({ lines }) => lines),
    });
  const runs = columns.chain((width) =>
    fc.record({
      width: fc.constant(width),
      changes: fc.array(fc.oneof(piece, panels(width), changing(width)), {
        minLength: 1,
        maxLength: 20,
      }),
      last: panels(width),
    }),
  );

  it("shows all text once and in order, and the panel once below it, whatever came when", async () => {
    await fc.assert(
      fc.asyncProperty(runs, async ({ width, changes, last }) => {
        const screen = emulatedScreen(width);
        const live = new LiveScreen({
          write: screen.write,
          columns: () => width,
          rows: () => 1000,
        });
        const { text, rows } = await play(live, changes);
        await live.draw(last);
        const wanted = await expected(width, text, { ...last, lines: [...rows, ...last.lines] });
        expect(screen.rows()).toEqual(wanted.rows());
        const [lastRow] = wanted.cursor();
        expect(screen.cursor()).toEqual([lastRow - last.below, last.column]);
      }),
    );
  });

  it("leaves nothing of the panel when it is closed, and the cursor at the start of a line", async () => {
    await fc.assert(
      fc.asyncProperty(runs, async ({ width, changes, last }) => {
        const screen = emulatedScreen(width);
        const live = new LiveScreen({
          write: screen.write,
          columns: () => width,
          rows: () => 1000,
        });
        const plain = emulatedScreen(width);
        const { text, rows } = await play(live, [...changes, last]);
        await plain.write(text + rows.map((row) => `${row}\n`).join(""));
        await live.close();
        if (plain.cursor()[1] > 0) await plain.write("\n");
        expect(screen.rows()).toEqual(plain.rows());
        expect(screen.cursor()).toEqual(plain.cursor());
      }),
    );
  });

  it("writes of a block that fills a wide window the row that grows, and not the rows above it", async () => {
    const screen = emulatedScreen(200);
    const sizes: number[] = [];
    const live = new LiveScreen({
      write: async (text) => (sizes.push(text.length), await screen.write(text)),
      columns: () => 200,
      rows: () => 60,
    });
    await live.draw({ lines: ["", "Working", "> typed"], below: 0, column: 7 });
    const above = Array.from({ length: 50 }, (_, row) => `row ${row} `.padEnd(150, "x"));
    const deltas = Array.from({ length: 30 }, (_, delta) => `row 50 ${"word ".repeat(delta)}`);
    for (const last of deltas) await live.write("", [...above, last]);
    expect(Math.max(...sizes.slice(2))).toBeLessThan(300);
    expect(screen.rows()).toEqual([...above, deltas.at(-1)?.trimEnd(), "", "Working", "> typed"]);
  });

  it("takes a panel off that a narrower window has wrapped", async () => {
    let width = 40;
    const wide = emulatedScreen(20);
    const live = new LiveScreen({ write: wide.write, columns: () => width, rows: () => 1000 });
    await live.write("text\n");
    const panel = { lines: ["a".repeat(30), "> typed"], below: 0, column: 7 };
    // As a terminal of 20 columns shows it after it was made narrower.
    await live.draw(panel);
    width = 20;
    await live.draw({ lines: ["b", "> typed"], below: 0, column: 7 });
    expect(wide.rows()).toEqual(["text", "b", "> typed"]);
  });

  it("gives a line that is drawn again the looks that it began with", async () => {
    const written: string[] = [];
    const live = new LiveScreen({
      write: async (text) => void written.push(text),
      columns: () => 20,
      rows: () => 1000,
    });
    await live.write("\u001B[2mone\ntwo\u001B[22m");
    await live.draw({ lines: [">"], below: 0, column: 1 });
    expect(written.at(-1)).toContain("\u001B[2mtwo\u001B[22m");
  });
});

describe("cells", () => {
  it.each([
    ["plain", 5],
    ["漢字", 4],
    ["é", 1],
    ["👩‍👩‍👧", 2],
    ["❤️", 2],
    ["\u001B[1mbold\u001B[22m", 4],
    ["", 0],
  ])("%j takes %i", (text, cells) => {
    expect(cellsOf(text)).toBe(cells);
  });

  const text = fc.string({ unit: "grapheme", maxLength: 60 });

  it("a cut text fits; one that fits is not cut", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 70 }), (any, most) => {
        const cut = cutToCells(any, most);
        expect(cellsOf(cut)).toBeLessThanOrEqual(most);
        expect(cut === any).toBe(cellsOf(any) <= most);
      }),
    );
  });

  it("a broken line is the same text, and its row fits", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 70 }), (any, most) => {
        const broken = breakRow(any, most);
        const [row] = broken ?? [any];
        expect((broken ?? [any]).join("")).toBe(any);
        expect(cellsOf(row)).toBeLessThanOrEqual(most);
      }),
    );
  });

  it("puts words on as many rows as they need", () => {
    expect(rowsOfWords(["one", "two", "three"], 9, " · ")).toEqual(["one · two", "three"]);
    expect(rowsOfWords(["much too long"], 6, " ")).toEqual(["much …"]);
  });
});
