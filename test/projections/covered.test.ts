/** Which compaction covers a position: the newest that contains it, however they overlap. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { coveredBy, itemRanges } from "../../src/projections/compactions.ts";
import type { Compaction } from "../../src/projections/context-view.ts";
import type { HistoryItem } from "../../src/projections/index.ts";
import { runs } from "../support/runs.ts";

const LAST = 30;

const compaction = fc
  .tuple(fc.integer({ min: 1, max: LAST }), fc.nat(12))
  .map(([from, more]) => ({ from, to: from + more }));

const compactions: fc.Arbitrary<readonly Compaction[]> = fc
  .array(compaction, { maxLength: 6 })
  .map((all) => all.map((range, index) => ({ ...range, position: 100 + index, summary: "" })));

const items: fc.Arbitrary<readonly HistoryItem[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: LAST }), { maxLength: 15 })
  .map((positions) =>
    positions
      .toSorted((one, other) => one - other)
      .map(
        (position) =>
          ({ kind: "user", position, id: `m${position}`, content: "", turn: 1 }) as HistoryItem,
      ),
  );

it("is the newest that contains the position, and the ranges of items say the same", () => {
  fc.assert(
    fc.property(compactions, items, (all, list) => {
      const newest = (position: number): Compaction | undefined =>
        all.findLast(({ from, to }) => from <= position && position <= to);
      for (let position = 1; position <= LAST + 13; position++)
        expect(coveredBy(all, position)).toBe(newest(position));
      const ranges = itemRanges(list, all);
      const told = ranges.flatMap(({ start, end, by }) =>
        list.slice(start, end).map((item) => ({ item, by })),
      );
      expect(told).toEqual(list.map((item) => ({ item, by: newest(item.position) })));
      for (const { start, end } of ranges) expect(start).toBeLessThan(end);
      // None could be one with the range before it.
      expect(ranges.filter(({ by }, index) => index > 0 && ranges[index - 1]?.by === by)).toEqual(
        [],
      );
    }),
    runs(500),
  );
});
