/** The default estimator, beyond its figures against real counts (test/corpus/estimates.test.ts). */

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { defaultEstimator, tokenizer } from "../../src/context/estimate/token-estimator.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { runs } from "../support/runs.ts";

const tokens = (text: string): number => defaultEstimator.text(text);

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom("a", "B", "7", " ", "\n", "{", "=", "中", "é"),
    maxLength: 200,
  }),
);

describe("the default estimator", () => {
  it("gives every text a figure that is finite and within what a tokenizer could answer", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const count = tokens(text);
        expect(count).toBeGreaterThanOrEqual(0);
        expect(count).toBeLessThanOrEqual(2.5 * text.length);
      }),
      runs(1000),
    );
  });

  it("counts texts that follow each other on lines of their own as much as both apart", () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        const apart = tokens(one) + tokens(other);
        const together = tokens(`${one}\n${other}`);
        expect(Math.abs(together - apart)).toBeLessThanOrEqual(2.5);
      }),
      runs(1000),
    );
  });

  it.each<[string, string, number]>([
    ["prose", "The quick brown fox jumps over the lazy dog.", 10],
    ["an identifier in camel case", "getReservationDetailsByUserId", 6],
    ["indentation", `if (x) {\n${" ".repeat(40)}return;\n}`, 9],
    ["a ruler of one sign", "=".repeat(80), 1],
    ["Chinese", "今天天气很好，我们去公园散步吧。", 12],
    ["a hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 40],
  ])("sees what it has before it: %s", (_, text, count) => {
    expect(tokens(text)).toBeGreaterThan(count * 0.7);
    expect(tokens(text)).toBeLessThan(count * 1.3);
  });

  it("sees base64, where four characters are not a token but nearly three", () => {
    const base64 = Buffer.from(Array.from({ length: 900 }, (_, i) => (i * 7919) % 251)).toString(
      "base64",
    );
    expect(tokens(base64)).toBeGreaterThan(2 * lengthEstimator.text(base64));
  });
});

it("a user's tokenizer takes its place, and is believed as it is", () => {
  const words = tokenizer((text) => text.split(" ").length);
  expect(words.text("one two three")).toBe(3);
  expect(words).toMatchObject({ exact: true, name: "tokenizer" });
  const guess = tokenizer((text) => text.length, { name: "guess", exact: false });
  expect(guess).toMatchObject({ exact: false, name: "guess" });
  expect(defaultEstimator).toMatchObject({ exact: false, name: "default" });
  expect(() => tokenizer((text) => text.length, { exact: "no" } as never)).toThrow(/exact/);
});

it("a long text is counted in parts, which make no difference", () => {
  const sizes: number[] = [];
  const words = [
    "a word ",
    "12 (of) Numbers  ",
    "camelCase.\n",
    "x".repeat(30),
    "dGhpcyBpcyBiYXNlNjQgdGV4dA== ",
  ];
  const short = words.join("");
  const few = tokens(short.repeat(20));
  const one = (tokens(short.repeat(40)) - few) / 20;
  const made = Uint8Array;
  vi.stubGlobal(
    "Uint8Array",
    class extends made {
      constructor(size: number) {
        super(size);
        sizes.push(size);
      }
    },
  );
  const long = tokens(short.repeat(20_000));
  vi.unstubAllGlobals();
  expect((long - few) / 19_980).toBeCloseTo(one, 6);
  expect(sizes).toEqual([]);
});
