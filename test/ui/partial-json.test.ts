/** The input of a call while it is written: as the AI SDK shows it, at every place where it may be cut off. */

import { parsePartialJson } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partialJson } from "../../src/ui/partial-json.ts";
import { runs } from "../support/runs.ts";

describe("JSON that is cut off", () => {
  it("has the value that the AI SDK reads from it, wherever it is cut off", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.constantFrom(undefined, 1, 2),
        async (json, at, indent) => {
          const text = JSON.stringify(JSON.parse(json), undefined, indent);
          const cut = text.slice(0, at % (text.length + 1));
          const { value } = await parsePartialJson(cut);
          expect({ cut, value: partialJson(cut) }).toEqual({ cut, value });
        },
      ),
      runs(1000),
    );
  });

  it.each([
    '{"a": tru',
    '{"a": -',
    '{"a": -1.',
    '{"a": 1e',
    '{"a": 1.5e+',
    '["x", nul',
    '{"k',
    '{"k"',
    '{"k":',
    '{"k":"\\',
    '{"k":"\\u12',
    '{"k":"a\\n',
    '{"a":1,',
    "[1,",
    "[[",
    "",
    "  ",
    "nope",
    "{x",
    '{"a":1}}',
    '"tail" x',
  ])("%s", async (text) => {
    const { value } = await parsePartialJson(text);
    expect(partialJson(text)).toEqual(value);
  });
});
