/** A value is the same after it was stored as its difference from any earlier one, also in the order of its fields. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { runs } from "../support/runs.ts";
import { difference, restored } from "../../src/state/difference.ts";

const { values } = fc.letrec<{ values: unknown }>((tie) => ({
  values: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>(null, true, 1, "is"),
    fc.array(tie("values"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "1", "fields", "__proto__"), tie("values"), {
      noNullPrototype: true,
    }),
  ),
}));

it("brings back any JSON value from any other", () => {
  fc.assert(
    fc.property(values, values, (before, value) => {
      const stored = structuredClone(difference(value, before));
      expect(JSON.stringify(restored(before, stored))).toBe(JSON.stringify(value));
    }),
    runs(300),
  );
});
