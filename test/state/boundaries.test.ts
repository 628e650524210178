/** The past of a session that was never rewound is kept once. */

import { expect, it } from "vitest";
import { readFixture } from "../laws/session-fixture.ts";
import { foldSession, initialSessionState } from "../../src/state/session-state.ts";

it("the items of all branches are those of the history, until one is left", async () => {
  const events = await readFixture("long-talk");
  const state = events.reduce(
    (before, event) => foldSession(before, event).state,
    initialSessionState,
  );
  expect(state.boundaries.items.length).toBeGreaterThan(0);
  expect(state.boundaries.items).toBe(state.history.items);
});
