/** Plain data is frozen and copied whole; whatever else is in it stays as it is. */
import { describe, expect, it } from "vitest";
import {
  commonLength,
  deepFreeze,
  defined,
  isRecord,
  ownCopy,
} from "../../src/events/values/shared-value.ts";

const bare = (): object => Object.assign(Object.create(null) as object, { inner: { a: 1 } });
class Custom {
  readonly inner = { a: 1 };
}
function whole(): Record<string, unknown> {
  return {
    text: "text",
    list: [[{ a: 1 }], null, "text"],
    object: { deep: { deeper: {} } },
    bare: bare(),
    bytes: new Uint8Array([1, 2]),
    date: new Date(1),
    custom: new Custom(),
    none: null,
  };
}

/** All plain objects and lists in a value. */
function plainIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) return [];
  return [value, ...Object.values(value).flatMap(plainIn)];
}

describe("a value that is shared", () => {
  it("is frozen at every depth, but for what is not plain", () => {
    const value = whole();
    expect(deepFreeze(value)).toBe(value);
    expect(plainIn(value)).toHaveLength(9);
    for (const one of plainIn(value)) expect(Object.isFrozen(one)).toBe(true);
    for (const one of [value["bytes"], value["date"], value["custom"]])
      expect(Object.isFrozen(one)).toBe(false);
    expect(Object.isFrozen((value["custom"] as Custom).inner)).toBe(false);
  });

  it("may be no object at all", () => {
    expect(deepFreeze("text")).toBe("text");
    expect(deepFreeze(null)).toBeNull();
  });
});

describe("a copy for a caller", () => {
  it("is equal, and shares nothing that could be changed", () => {
    const value = whole();
    const copy = ownCopy(value);
    expect(copy).toEqual(value);
    expect(Array.isArray(copy["list"])).toBe(true);
    const before = new Set(plainIn(value));
    expect(plainIn(copy)).toHaveLength(before.size);
    for (const one of plainIn(copy)) expect(before.has(one)).toBe(false);
    for (const key of ["bytes", "date", "custom"]) expect(copy[key]).toBe(value[key]);
    expect(ownCopy("text")).toBe("text");
  });

  it("of a frozen value may be changed", () => {
    const copy = ownCopy(deepFreeze(whole()));
    copy["text"] = "other";
    expect(copy["text"]).toBe("other");
  });
});

it("two lists have their first equal entries in common", () => {
  expect(commonLength([1, 2, 3], [1, 2, 4, 3])).toBe(2);
  expect(commonLength([1, 2], [1, 2, 3])).toBe(2);
  expect(commonLength([1, 2, 3], [1, 2])).toBe(2);
  expect(commonLength([0], [1])).toBe(0);
  expect(commonLength([], [])).toBe(0);
  // A place behind the end is no entry.
  expect(commonLength([undefined], [])).toBe(0);
});

it("a field that is undefined is left out, and no other", () => {
  const fields = { a: undefined, b: null, c: 0, d: "", e: false };
  expect(Object.entries(defined(fields))).toEqual([
    ["b", null],
    ["c", 0],
    ["d", ""],
    ["e", false],
  ]);
});

it("a record is an object, and no list", () => {
  expect([{}, bare()].every(isRecord)).toBe(true);
  expect([[], null, undefined, "text", 1].some(isRecord)).toBe(false);
});
