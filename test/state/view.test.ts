/** Stored states of many sessions, which a list reads together. */

import { expect, it } from "vitest";
import { withSnapshots } from "../../src/state/view.ts";

it("are read by look-ups of 256, each with its session, before the names of further sessions are", async () => {
  const asked: number[] = [];
  let named = 0;
  const sessions = function* (): Generator<{ session: string }> {
    for (; named < 600; named++) yield { session: `s${named}` };
  };
  const log = {
    loadSnapshots: async (names: readonly string[], projection: string) => {
      asked.push(names.length);
      return names.map((name) => ({ projection, version: 1, position: 1, state: name }));
    },
  };
  const found: string[] = [];
  const namedBefore: number[] = [];
  for await (const [{ session }, stored] of withSnapshots(log, sessions(), "p")) {
    namedBefore.push(named);
    found.push(session);
    expect(stored?.state).toBe(session);
  }
  expect(found).toEqual(Array.from({ length: 600 }, (_, index) => `s${index}`));
  expect(namedBefore[0]).toBeLessThan(300);
  expect(asked).toEqual([256, 256, 88]);
});
