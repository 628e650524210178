/** How long an answer of `authorize` counts for a stream. */

import { expect, it, vi } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { gateOf, newestPermission } from "../../src/server/streams/permitted-events.ts";

const delta: SessionEvent = {
  position: 3,
  time: 0,
  type: "part.text-delta",
  data: { id: "t", text: "Hi" },
};
const moved: SessionEvent = {
  position: 4,
  time: 0,
  type: "session.metadata-set",
  data: { metadata: {} },
};

it("is five seconds, unless an event may change who reads the session", async () => {
  const clock = vi.spyOn(performance, "now");
  const may = vi.fn(() => Promise.resolve(true));
  const gate = gateOf(may);
  const newest = newestPermission(may);
  const askedAt = async (ms: number, event: SessionEvent): Promise<number> => {
    clock.mockReturnValue(ms);
    may.mockClear();
    await gate(event);
    await newest("s", event);
    return may.mock.calls.length;
  };
  expect(await askedAt(1_000, delta)).toBe(2);
  expect(await askedAt(5_999, delta)).toBe(0);
  expect(await askedAt(5_999, moved)).toBe(2);
  expect(await askedAt(10_998, delta)).toBe(0);
  expect(await askedAt(10_999, delta)).toBe(2);
  clock.mockRestore();
});
