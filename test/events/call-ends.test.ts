/** Which events end a call that was started. */

import { expect, it } from "vitest";
import { isCallEnd, type EventBody } from "../../src/events/index.ts";

const key = { step: 1, callId: "c" };
const error = { name: "Error", message: "It broke." };
const ends: readonly EventBody[] = [
  { type: "tool.succeeded", data: { ...key, output: 1 } },
  { type: "tool.failed", data: { ...key, error } },
  { type: "tool.unknown", data: { ...key, reason: "timed-out" } },
  { type: "tool.skipped", data: { ...key, reason: "cancelled" } },
];
/** A call that is denied was never started, and one that answers on the way still runs. */
const others: readonly EventBody[] = [
  { type: "tool.denied", data: key },
  { type: "tool.progressed", data: { ...key, output: 1 } },
  { type: "tool.output-requested", data: { ...key, toolName: "work" } },
];

it("are its result, its failure, an unknown outcome and its skip, and no others", () => {
  const isEnd = (body: EventBody): boolean => isCallEnd({ position: 1, time: 1, ...body });
  expect(ends.map(isEnd)).toEqual(ends.map(() => true));
  expect(others.map(isEnd)).toEqual(others.map(() => false));
});
