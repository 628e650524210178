/** The list of a session's branches: where each ends, and how many turns led there. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { sessionBranches } from "../../src/state/branches.ts";
import {
  asked,
  created,
  said,
  stateOf,
  stepFinished,
  stepStarted,
  turnEnded,
} from "../projections/session-of.ts";

it("counts turns and no notes, the running turn too, and says when the last of them spoke", () => {
  const noted: EventBody = { type: "session.rewound", data: { to: 1, note: "Mail was sent." } };
  const turn = [...asked("Go."), stepStarted(1), ...said("Yes."), stepFinished(1), turnEnded()];
  const events: readonly EventBody[] = [created, ...turn, noted];
  const [left, active] = sessionBranches(stateOf(...events));
  expect(left).toMatchObject({ id: 1, head: 10, turns: 1, active: false });
  expect(left).not.toHaveProperty("parent");
  const id = events.length;
  const about = { id, parent: 1, forkedAt: 1, active: true };
  expect(active).toEqual({ ...about, head: id, turns: 0, lastAt: 10_000 });
  const running = stateOf(...events, ...asked("Again."), stepStarted(1));
  expect(sessionBranches(running)[1]).toMatchObject({ ...about, turns: 1, lastAt: 13_000 });
  const back: EventBody = { type: "session.rewound", data: { to: 1 } };
  const again = sessionBranches(stateOf(...events, back, back));
  expect(again.map(({ active: isActive }) => isActive)).toEqual([false, false, false, true]);
});
