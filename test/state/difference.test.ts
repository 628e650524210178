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

const names = ["a", "b", "c", "d"];
/** Fields in any order, of which the last may have another value. */
const fields = fc
  .tuple(fc.shuffledSubarray(names, { minLength: 2 }), fc.nat({ max: 1 }))
  .map(([some, last]) =>
    Object.fromEntries(some.map((name, index) => [name, index === some.length - 1 ? last : 0])),
  );

it("brings back any JSON value from any other", () => {
  fc.assert(
    fc.property(values, values, (before, value) => {
      const stored = structuredClone(difference(value, before));
      expect(JSON.stringify(restored(before, stored))).toBe(JSON.stringify(value));
    }),
    runs(300),
  );
});

it("brings back the order of fields that are in another place, and those of a shorter value", () => {
  fc.assert(
    fc.property(fields, (value) => {
      const before = Object.fromEntries(names.map((name) => [name, 0]));
      const stored = structuredClone(difference(value, before));
      expect(JSON.stringify(restored(before, stored))).toBe(JSON.stringify(value));
    }),
    runs(300),
  );
});

it("has nothing of what is the same, and brings that back as the very value that it was", () => {
  const same = { a: { b: 1 } };
  const stored = difference({ same, other: 2 }, { same, other: 1 });
  expect(stored).toEqual({ fields: { other: 2 } });
  const before = { same, other: 1 };
  expect(restored(before, stored)).toHaveProperty("same", same);
  expect(Reflect.get(Object(restored(before, stored)), "same")).toBe(same);
  // As a fold makes one that changes nothing: a long session would else have it once for each turn.
  expect(restored(before, difference({ ...before }, before))).toBe(before);
});

it("of a list brings back what was added where the value before is none, as in a damaged store", () => {
  const stored = difference([1, 2], [1]);
  expect(restored([1], stored)).toEqual([1, 2]);
  for (const other of [undefined, null, 1, {}]) expect(restored(other, stored)).toEqual([2]);
});
