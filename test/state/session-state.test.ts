/** The fold of all folds: which events it refuses, and what a rewind brings back. */

import { expect, it } from "vitest";
import type { EventBody, SessionEvent } from "../../src/events/index.ts";
import { allWaiting } from "../../src/projections/index.ts";
import { canRewind, foldSession, initialSessionState } from "../../src/state/session-state.ts";
import {
  agent,
  asked,
  created,
  said,
  stateOf,
  stepFinished,
  stepStarted,
  turnEnded,
} from "../projections/session-of.ts";

const turn = (number: number): readonly EventBody[] => [
  ...asked(`Message ${number}`, number),
  stepStarted(number),
  ...said("Yes."),
  stepFinished(number),
  { type: "turn.ended", data: { turn: number, reason: "stop" } },
];
const configured: EventBody = {
  type: "session.configured",
  data: { agent: { ...agent, digest: "other" } },
};
/** The positions of the first and the second turn's end. */
const [first, second] = [10, 19];

function rewound(to: number, more: object = {}): SessionEvent<"session.rewound"> {
  return { position: 0, time: 0, type: "session.rewound", data: { to, ...more } };
}

it("an event behind a gap is refused by the position that is missing", () => {
  const state = stateOf(created, ...asked("Go."));
  const late: SessionEvent = { position: 6, time: 1, ...turnEnded() };
  const fold = () => foldSession(state, late);
  expect(fold).toThrow(expect.objectContaining({ code: "LOG_DAMAGED", position: 5 }));
  expect(fold).toThrow(/^Position 5 is missing: after 4 comes 6\./u);
});

it("an event that was folded before changes nothing", () => {
  const state = stateOf(created, ...asked("Go."));
  const again: SessionEvent = { position: 4, time: 1, ...turnEnded() };
  expect(foldSession(state, again)).toEqual({ state, effects: [] });
  expect(foldSession(state, again).state).toBe(state);
});

it("an event whose data do not fit its type is refused by its position", () => {
  // @ts-expect-error A log that checks nothing may hand over anything.
  const wrong: SessionEvent = { position: 1, time: 1, type: "session.created", data: {} };
  expect(() => foldSession(initialSessionState, wrong)).toThrow(
    expect.objectContaining({ code: "EVENT_INVALID", position: 1 }),
  );
});

it("what is known of a prompt's size comes back with a rewind, unless the agent is another by now", () => {
  const { model } = agent;
  const before: readonly EventBody[] = [
    created,
    ...turn(1),
    {
      type: "context.counted",
      data: { counter: "test", model, estimatedTokens: 800, tokens: 900 },
    },
    {
      type: "context.compacted",
      data: {
        strategy: "test",
        covers: { from: 2, to: 4 },
        summary: "They talked.",
        beforeTokens: 900,
        afterTokens: 90,
        scale: 1.5,
      },
    },
  ];
  const { counts, compactions, history } = stateOf(...before);
  const back: EventBody = { type: "session.rewound", data: { to: before.length } };
  const same = stateOf(...before, ...turn(2), back);
  expect([same.history, same.counts, same.compactions]).toEqual([history, counts, compactions]);
  expect([counts.last?.tokens, compactions.scale]).toEqual([900, 1.5]);
  const other = stateOf(...before, configured, ...turn(2), back);
  expect([other.counts.last, other.compactions.scale]).toEqual([undefined, undefined]);
  expect(other.history).toEqual(history);
});

it("what became known behind a turn does not come back with a rewind to the turn's end", () => {
  const { model } = agent;
  const data = { counter: "test", model, estimatedTokens: 800, tokens: 900 };
  const events: readonly EventBody[] = [
    created,
    ...turn(1),
    { type: "context.counted", data },
    { type: "session.titled", data: { title: "Talk" } },
  ];
  expect(stateOf(...events).counts.last?.tokens).toBe(900);
  const at = (to: number) => stateOf(...events, { type: "session.rewound", data: { to } });
  expect(at(first).counts).toEqual(stateOf(...events.slice(0, first)).counts);
  expect(at(first + 1).counts.last?.tokens).toBe(900);
});

it("a rewind names a boundary, the head of the branch that continues, and messages that were left", () => {
  const state = stateOf(created, ...turn(1), ...turn(2));
  expect(state.position).toBe(second);
  const can = (to: number, more?: object): boolean => canRewind(state, rewound(to, more));
  expect([1, first, second].map((to) => can(to))).toEqual([true, true, true]);
  expect([first - 1, second - 1, second + 1].map((to) => can(to))).toEqual([false, false, false]);
  expect(can(second, { branch: 1 })).toBe(true);
  expect(can(first, { branch: 1 })).toBe(false);
  expect(can(second, { branch: 2 })).toBe(false);
  expect(can(first, { again: ["m2"] })).toBe(true);
  expect(can(first, { again: ["m1"] })).toBe(false);
  expect(can(first, { again: ["m2", "m2"] })).toBe(false);
  expect(can(first, { again: ["nobody"] })).toBe(false);
  expect(can(1, { again: ["m1", "m2"] })).toBe(true);
  const running = stateOf(created, ...turn(1), ...asked("More.", 2), stepStarted(2));
  expect(canRewind(running, rewound(first))).toBe(false);
});

it("messages of the turns that are left wait again in their order, as they were accepted", () => {
  const before = [created, ...turn(1), ...turn(2)];
  const back: EventBody = { type: "session.rewound", data: { to: 1, again: ["m1", "m2"] } };
  const { queue, history } = stateOf(...before, back);
  expect(history.items).toEqual([]);
  expect(allWaiting(queue)).toMatchObject([
    { id: "m1", content: "Message 1", position: 2, delivery: "follow-up" },
    { id: "m2", content: "Message 2", position: 11, delivery: "follow-up" },
  ]);
});

it("a note about what was left stands behind the items that came back, also after the next rewind", () => {
  const noted: EventBody = { type: "session.rewound", data: { to: first, note: "Mail was sent." } };
  const before = [created, ...turn(1), ...turn(2), noted];
  const { history, boundaries, position } = stateOf(...before);
  expect(history.items.slice(-1)).toEqual([
    { kind: "note", text: "Mail was sent.", turn: 1, position: 20, time: 19_000 },
  ]);
  expect(history.items).toHaveLength(4);
  // Those of both turns, and the note once.
  expect(boundaries.items).toEqual([
    ...stateOf(...before.slice(0, -1)).boundaries.items,
    ...history.items.slice(-1),
  ]);
  const back: EventBody = { type: "session.rewound", data: { to: position } };
  expect(stateOf(...before, ...turn(2), back).history.items).toEqual(history.items);
});

it("another agent begins another boundary, and a trim of what was billed is known to all of them", () => {
  const { passed } = stateOf(created, ...turn(1), configured).boundaries;
  expect(passed.at(-1)).toMatchObject({ agent: "one", to: first });
  const thinned: EventBody = {
    type: "session.thinned",
    data: { drop: "reasoning", spans: [{ from: 1, to: 2 }], shown: true },
  };
  const after = stateOf(created, ...turn(1), ...turn(2), thinned).boundaries.passed;
  expect(new Set(after.map(({ view }) => view.changed))).toEqual(new Set([second + 1]));
});
