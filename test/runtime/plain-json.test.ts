/** A copy of plain JSON data is what a way through its text would make of it. */

import { anything, assert, jsonValue, object, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { plainJson } from "../../src/events/index.ts";
import { toJson } from "../../src/shared/index.ts";

const throughText = (value: unknown): unknown => {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

describe("a copy of JSON", () => {
  it("is made of all that is JSON, and is the same to the byte", () => {
    assert(
      property(jsonValue(), (value) => {
        const through: unknown = JSON.parse(JSON.stringify(value));
        expect(plainJson(through)).toStrictEqual(through);
        expect(JSON.stringify(toJson(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each([
    [
      "anything",
      anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withSparseArray: true,
        withTypedArray: true,
      }),
    ],
    ["objects", object({ withBoxedValues: true, withDate: true })],
  ])("is either that of the way through text or not made: %s", (_, values) => {
    assert(
      property(values, (value) => {
        const copy = plainJson(value);
        if (copy === undefined) return;
        expect(copy).toStrictEqual(throughText(value));
        expect(Object.is(copy, -0)).toBe(false);
      }),
    );
  });

  it.each<[string, unknown]>([
    ["a value with its own JSON", { toJSON: () => 1 }],
    ["one that hides it", Object.defineProperty({}, "toJSON", { value: () => 1 })],
    ["a list with its own JSON", Object.assign([1], { toJSON: () => 2 })],
    ["a list with holes", Array.from({ length: 2 }, () => undefined)],
    ["a date", [new Date(0)]],
    ["bytes", { bytes: new Uint8Array(2) }],
    ["a number that JSON has not", [Number.NaN]],
    ["a symbol", [Symbol("s")]],
  ])("is not made of %s, which goes through text as before", (_, value) => {
    expect(plainJson(value)).toBeUndefined();
    expect(toJson(value)).toStrictEqual(throughText(value));
  });

  it.each(["__proto__", "constructor", "prototype", "toString"])("keeps a key %s", (key) => {
    const value: unknown = JSON.parse(`{"a":{"${key}":{"b":1}},"${key}":[2]}`);
    expect(JSON.stringify(plainJson(value))).toBe(JSON.stringify(value));
    expect(Object.getPrototypeOf(plainJson(value))).toBe(Object.prototype);
  });

  it("is not made of a cycle or of what is nested without end", () => {
    const cycle: Record<string, unknown> = {};
    cycle["again"] = cycle;
    expect(plainJson(cycle)).toBeUndefined();
    expect(toJson(cycle)).toStrictEqual({ again: "[Circular]" });
  });

  it("shares no list and no object with what it is made of", () => {
    const value = { list: [{ text: "a" }] };
    const copy = toJson(value);
    value.list.push({ text: "b" });
    expect(copy).toStrictEqual({ list: [{ text: "a" }] });
  });
});
