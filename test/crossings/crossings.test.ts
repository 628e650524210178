/** Every act in every circumstance, on real sessions: `docs/crossings.md` has the outcome of each cell. */

import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { long, lot, stepOf } from "../support/runs.ts";
import { happenings, here, places, runnings } from "./circumstances.ts";
import { runCell, type Cell, type Outcome } from "./cell.ts";
import { cells, nameOf, sampled } from "./cells.ts";
import { pagePath, readPage, writePage } from "./page.ts";

const file = new URL(`../../${pagePath}`, import.meta.url);
const recording = process.env["TURNLOG_RECORD"];
const isRecording = recording !== undefined;

const sample = sampled(lot);

function problemsOf(outcome: Outcome): readonly string[] {
  return outcome.kind === "fails" ? outcome.problems : [];
}

const named = (cell: Cell): readonly [string, Cell] => [nameOf(cell), cell];

describe("Whatever is done to a session in whatever circumstances", () => {
  const old = readPage(readFileSync(file, "utf8"));
  // `TURNLOG_RECORD=new` runs the cells alone that the page does not have, as of a new act.
  const page = isRecording && recording !== "new" ? new Map<string, Outcome>() : old;
  const outcomes = new Map(page);
  const wanted = cells.filter((cell) => !page.has(nameOf(cell)));

  it.each((isRecording ? wanted : long ? cells : sample).map(named))(
    "no law breaks, and it is as the page says: %s",
    async (name, cell) => {
      const outcome = await runCell(cell);
      outcomes.set(name, outcome);
      expect(problemsOf(outcome)).toEqual([]);
      expect(outcome).toEqual(isRecording ? outcome : page.get(name));
    },
  );

  afterAll(() => {
    if (isRecording) writeFileSync(file, writePage(outcomes));
  });

  it.skipIf(isRecording)("has a page with exactly these acts and circumstances", () => {
    expect(writePage(page)).toBe(readFileSync(file, "utf8"));
  });

  it("is tried with every running thing and every place in each sample", () => {
    const tried = new Set(sample.flatMap(({ running, place }) => [running, place]));
    expect([...tried]).toEqual(
      expect.arrayContaining([...runnings, ...places, ...happenings, here]),
    );
  });
});

describe("Nothing grows with sessions that have ended", () => {
  const step = stepOf(16);
  const living = sample.filter(({ place }) => place.kills === undefined);
  const chosen = living.filter((_, index) => index % step === 0);

  it.each(chosen.map(named))("in one runtime: %s", async (_, cell) => {
    expect(problemsOf(await runCell(cell, 3))).toEqual([]);
  });
});
