/** docs/errors.md explains every code that an error can have, with the status of its answer over HTTP. */

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { TurnlogError, type TurnlogErrorCode } from "../../src/events/index.ts";
import { problemOf } from "../../src/server/problems/problem.ts";

const read = (path: string): Promise<string> =>
  readFile(new URL(`../../${path}`, import.meta.url), "utf8");

it("docs/errors.md has a row for each code of an error, with its HTTP status", async () => {
  const source = await read("src/events/values/errors.ts");
  const codes = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(40);
  const rows = [...(await read("docs/errors.md")).matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)];
  const explained = rows.map(([, code = "", status]) => `${code} ${status}`);
  const expected = codes.map((code) => {
    const { status } = problemOf(new TurnlogError(code as TurnlogErrorCode, ""));
    return `${code} ${status}`;
  });
  expect(new Set(explained)).toEqual(new Set(expected));
  expect(explained).toHaveLength(codes.length);
});
