/** Texts that may be JSON: `null` is JSON, and no failure to read it. */

import { expect, it } from "vitest";
import { jsonOrText, parsedJson } from "../../src/events/index.ts";

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
