/** What a tail shows of rows that are queued in this process, while other processes write to the session too. */

import { expect, it } from "vitest";
import type { SessionEvent } from "../../../src/events/index.ts";
import type { EventRow } from "../../../src/store/event-rows/index.ts";
import { LiveTail } from "../../../src/store/following/live-tail.ts";
import { numbered } from "../../../src/testing/index.ts";

const rowAt = (position: number): EventRow => ({ position, events: [numbered(position)], row: "" });
const tailOf = (): LiveTail =>
  new LiveTail(({ position, events }): readonly SessionEvent[] =>
    events.map((event) => ({ ...event, position })),
  );
const shown = (tail: LiveTail, position: number): readonly number[] | undefined =>
  tail.from(position)?.map(({ time }) => time - 1000);

it("shows a queued row once it is written, and not before", () => {
  const tail = tailOf();
  tail.push(rowAt(1));
  expect(shown(tail, 1)).toBeUndefined();
  tail.advance(1);
  expect(shown(tail, 1)).toEqual([1]);
});

it("never shows a queued row for a position that another process has written", () => {
  const tail = tailOf();
  tail.push(rowAt(1));
  tail.advance(1);
  tail.push(rowAt(2));
  tail.push(rowAt(3));
  tail.learn(2);
  // The subscriber reads the store, which may have another event there.
  expect(tail.committed).toBe(2);
  expect(shown(tail, 2)).toBeUndefined();
  expect(shown(tail, 1)).toEqual([1]);
  tail.learn(3);
  expect(shown(tail, 3)).toBeUndefined();
});

it("keeps queued rows when the store has nothing new", () => {
  const tail = tailOf();
  tail.push(rowAt(1));
  tail.advance(1);
  tail.push(rowAt(2));
  tail.learn(1);
  tail.advance(2);
  expect(shown(tail, 2)).toEqual([2]);
});
