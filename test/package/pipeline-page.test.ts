/** The page about the context tells the stages of a prompt as the code has them, in its order. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pipeline } from "../../src/runtime/prompt/pipeline.ts";

const page = readFileSync(new URL("../../docs/context.md", import.meta.url), "utf8");

const undone = { restore: "`session.restore`", "turn.ended": "the end of the turn" };
const quoted = (name: string | undefined): string => (name === undefined ? "" : `\`${name}\``);

it("each stage is on the page: its name, its setting, its event, and what undoes it", () => {
  const [, table = ""] = page.split("| stage |");
  const [, , ...rows] = table.slice(0, table.indexOf("\n\n")).split("\n");
  const told = rows.map((row) => row.split("|").map((cell) => cell.trim()));
  expect(told.map(([, ...cells]) => cells.slice(0, -1))).toEqual(
    pipeline.map(({ name, setting, event, undo }) => [
      quoted(name),
      quoted(setting),
      quoted(event),
      undo === undefined ? "" : undone[undo],
    ]),
  );
});

it("each stage is explained under its own name", () => {
  for (const { name } of pipeline) {
    const title = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    expect(page).toMatch(new RegExp(`^(\\*\\*${title}\\.\\*\\*|## ${title}: ) ?`, "m"));
  }
});
