/** Texts that may be JSON: `null` is JSON, and no failure to read it. */

import { expect, it } from "vitest";
import { jsonOrText, parsedJson, plainJson } from "../../src/events/index.ts";

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
