/** Who waits for a state of a session hears of it when its events are in the log. */

import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { Watchers } from "../../src/runtime/session/watchers.ts";

it("a state is told when it is in the log, not when it is seen", async () => {
  const durable = Promise.withResolvers<void>();
  const actor = { ended: undefined, durable: () => durable.promise };
  const told: string[] = [];
  const watching = new Watchers().watch(actor, () => "idle").then((state) => told.push(state));
  await setImmediate();
  expect(told).toEqual([]);
  durable.resolve();
  await watching;
  expect(told).toEqual(["idle"]);
});
