/** What a later release wrote is named by its format, with what the reader says of it. */

import { expect, it } from "vitest";
import { assertKnownFormat } from "../../src/events/index.ts";

it("refuses a later format, and tells it beside what the reader tells", () => {
  expect(() => {
    assertKnownFormat("The file", { format: 3 }, 2, { session: "s", details: { line: 1 } });
  }).toThrow(
    expect.objectContaining({
      code: "LOG_TOO_NEW",
      session: "s",
      details: { line: 1, format: 3 },
    }),
  );
});

it("takes the format that it knows, an earlier one, and what has none", () => {
  for (const value of [{ format: 2 }, { format: 1 }, {}, null]) assertKnownFormat("It", value, 2);
});
