/** Columns of numbers, encoded as text. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { columnNumbers, numberColumn } from "../../../src/store/event-rows/delta-run.ts";

const whole = fc.oneof(fc.nat({ max: 120 }), fc.maxSafeInteger());

it("returns all whole numbers except zeros at its end, and costs one byte for a small one", () => {
  fc.assert(
    fc.property(fc.array(whole, { maxLength: 300 }), (given) => {
      const numbers = given.map((number) => number || 0);
      const column = numberColumn(numbers);
      const read = columnNumbers(column) ?? [];
      expect([...read, ...numbers.slice(read.length)]).toEqual(numbers);
      expect(numbers.slice(read.length).every((number) => number === 0)).toBe(true);
      expect(JSON.stringify(column)).toHaveLength(column.length + 2);
    }),
  );
  const small = Array.from({ length: 90 }, (_, index) => 90 - index - 1);
  expect(JSON.stringify(numberColumn([...small, 1]))).toHaveLength(90 + 1 + 2);
});

it("is refused where it is damaged", () => {
  for (const column of ['"', "\\", " ", "é", "~", "~1", "~~", "~1.5~", "~01~", "~-0~", "~1e3~"])
    expect(columnNumbers(column), column).toBeUndefined();
  expect(columnNumbers("~9007199254740993~")).toBeUndefined();
  expect(columnNumbers("#~-7~$")).toEqual([0, -7, 1]);
});
