/** A key from which single positions can be taken away for good. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { KEY_POSITIONS, PuncturableKey } from "../../../src/store/encryption/puncturable-key.ts";

const position = fc.oneof(
  fc.integer({ min: 1, max: 70 }),
  fc.integer({ min: 1, max: 100_000 }),
  fc.constantFrom(KEY_POSITIONS - 1, 2 ** 32, 2 ** 32 - 1),
);
const range = fc
  .tuple(position, fc.integer({ min: 0, max: 40 }))
  .map(([from, more]) => ({ from, to: Math.min(from + more, KEY_POSITIONS - 1) }));
const seed = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

function hexOf(key: PuncturableKey, at: number): string | undefined {
  return key.key(at)?.toString("hex");
}

it("loses the keys of exactly those positions that are taken away, in whatever order, and keeps all others as they were", () => {
  fc.assert(
    fc.property(
      seed,
      fc.array(range, { maxLength: 6 }),
      fc.array(position, { minLength: 1, maxLength: 40 }),
      (root, ranges, asked) => {
        const whole = PuncturableKey.of(root);
        let left = whole;
        for (const { from, to } of ranges) left = left.without(from, to);
        const edges = ranges.flatMap(({ from, to }) => [from - 1, from, to, to + 1]);
        for (const at of [...asked, ...edges]) {
          if (at < 0 || at >= KEY_POSITIONS) continue;
          const isGone = ranges.some(({ from, to }) => from <= at && at <= to);
          expect(hexOf(left, at)).toBe(isGone ? undefined : hexOf(whole, at));
        }
      },
    ),
  );
});

it("keeps nothing from which a removed key follows: no remaining node is above it", () => {
  fc.assert(
    fc.property(seed, fc.array(range, { minLength: 1, maxLength: 6 }), (root, ranges) => {
      let left = PuncturableKey.of(root);
      for (const { from, to } of ranges) left = left.without(from, to);
      for (const { level, index } of left.nodes) {
        const width = 2 ** (40 - level);
        const [first, last] = [index * width, (index + 1) * width - 1];
        for (const { from, to } of ranges) expect(to < first || last < from).toBe(true);
      }
    }),
  );
});

it("has another key for every position", () => {
  const key = PuncturableKey.of(Buffer.alloc(32, 7));
  const keys = Array.from({ length: 5000 }, (_, at) => hexOf(key, at));
  expect(new Set(keys).size).toBe(5000);
  expect(hexOf(new PuncturableKey(key.nodes), 4321)).toBe(keys[4321]);
});

it("grows by some forty nodes for a position, and by fewer for one beside it", () => {
  let key = PuncturableKey.of(Buffer.alloc(32, 7)).without(1000, 1000);
  expect(key.nodes.length).toBe(40);
  key = key.without(1001, 1200);
  expect(key.nodes.length).toBeLessThan(45);
});
