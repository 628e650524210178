/** Texts that may be JSON: `null` is JSON, and no failure to read it. */

import { expect, it } from "vitest";
import { jsonOrText, MOST_LEVELS, parsedJson, plainJson } from "../../src/events/index.ts";

it.each([
  ["null", null, null],
  ["false", false, false],
  ['"a"', "a", "a"],
  ['{"a":[1]}', { a: [1] }, { a: [1] }],
  ["", undefined, ""],
  ["{", undefined, "{"],
  ["undefined", undefined, "undefined"],
] as const)("%s", (text, parsed, orText) => {
  expect(parsedJson(text)).toEqual(parsed);
  expect(jsonOrText(text)).toEqual(orText);
});

it("leaves out what an object has no value for, as JSON does, and takes no object with a function", () => {
  expect(plainJson({ a: undefined, b: { c: undefined } })).toEqual({ b: {} });
  expect(plainJson({ a: () => 1 })).toBeUndefined();
  expect(plainJson({ toJSON: 1 })).toBeUndefined();
});

it.each([
  ["lists", (inner: unknown) => [inner]],
  ["objects", (inner: unknown) => ({ inner })],
])("takes as many levels of %s as every function can walk, and no more", (_what, around) => {
  const nested = (levels: number): unknown =>
    Array.from({ length: levels }).reduce<unknown>((inner) => around(inner), "a");
  expect(plainJson(nested(MOST_LEVELS))).toEqual(nested(MOST_LEVELS));
  expect(plainJson(nested(MOST_LEVELS + 1))).toBeUndefined();
});

it("takes as many characters as fit into one text of JSON, in values and names together, and no more", () => {
  const most = 80_000_000;
  expect(plainJson(["a".repeat(most / 2), "b".repeat(most / 2)])).toHaveLength(2);
  expect(plainJson(["a".repeat(most / 2), "b".repeat(most / 2), "c"])).toBeUndefined();
  expect(plainJson({ name: "a".repeat(most - 4) })).toBeDefined();
  expect(plainJson({ name: "a".repeat(most - 3) })).toBeUndefined();
});

it("has one zero, and keeps a field named `__proto__` as one that can be listed and changed", () => {
  expect(Object.is(plainJson(-0), 0)).toBe(true);
  const copy = plainJson(JSON.parse('{"__proto__":1}'));
  expect(Object.getOwnPropertyDescriptor(copy, "__proto__")).toEqual({
    value: 1,
    enumerable: true,
    writable: true,
    configurable: true,
  });
});
