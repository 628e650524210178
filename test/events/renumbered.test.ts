/** Events that are left out leave no gap, and every position in the data of the others moves with them. */
import { describe, expect, it } from "vitest";
import type { EventBody, SessionEvent } from "../../src/events/index.ts";
import {
  movedPositions,
  renumbered,
  replayableEvents,
  unchained,
} from "../../src/events/checks/renumbered.ts";

function at(position: number, body: EventBody): SessionEvent {
  return { position, time: 10 * position, ...body };
}

const id = (position: number, index: number): { position: number; index: number } => ({
  position,
  index,
});
const strategy = "summarize";
const digest = "a".repeat(64);
/** A field that a later release may have added. */
const later = { later: 1 };

/** Positions in data, each made ten times as large below. */
const pointing: readonly (readonly [EventBody, EventBody["data"]])[] = [
  [
    {
      type: "context.compacted",
      data: {
        strategy,
        covers: { from: 1, to: 2, ...later },
        summary: "",
        beforeTokens: 3,
        afterTokens: 4,
      },
    },
    {
      strategy,
      covers: { from: 10, to: 20, ...later },
      summary: "",
      beforeTokens: 3,
      afterTokens: 4,
    },
  ],
  [
    { type: "context.media-omitted", data: { before: 4, there: [], media: 1, savedBytes: 2 } },
    { before: 40, there: [], media: 1, savedBytes: 2 },
  ],
  [
    { type: "context.reduced", data: { step: 1, rung: "as-text", to: 3 } },
    { step: 1, rung: "as-text", to: 30 },
  ],
  [
    {
      type: "context.reduced",
      data: { step: 1, rung: "without-media", to: 3, media: [{ position: 2, index: 5, ...later }] },
    },
    { step: 1, rung: "without-media", to: 30, media: [{ position: 20, index: 5, ...later }] },
  ],
  [{ type: "context.restored", data: { position: 5 } }, { position: 50 }],
  [
    { type: "session.rewound", data: { to: 2, note: "a" } },
    { to: 20, note: "a" },
  ],
  [
    { type: "session.rewound", data: { to: 2, branch: 4 } },
    { to: 20, branch: 40 },
  ],
  [
    { type: "step.prepared", data: { turn: 1, step: 2 } },
    { turn: 1, step: 2 },
  ],
  [
    {
      type: "step.prepared",
      data: {
        turn: 1,
        step: 2,
        messages: {
          hidden: [{ from: [0, 1], to: [2, 3] }],
          shown: [{ from: [4, 1], to: [5, 3] }],
          summaries: [3],
          removed: [id(6, 2)],
          added: [
            { after: { place: [7, 1] }, message: { role: "user", content: "a" } },
            { after: id(8, 1), message: { role: "user", content: "b" } },
          ],
        },
      },
    },
    {
      turn: 1,
      step: 2,
      messages: {
        hidden: [{ from: [0, 1], to: [20, 3] }],
        shown: [{ from: [40, 1], to: [50, 3] }],
        summaries: [30],
        removed: [id(60, 2)],
        added: [
          { after: { place: [70, 1] }, message: { role: "user", content: "a" } },
          { after: id(80, 1), message: { role: "user", content: "b" } },
        ],
      },
    },
  ],
  [
    { type: "step.prepared", data: { turn: 1, step: 2, messages: { summaries: [3] } } },
    { turn: 1, step: 2, messages: { summaries: [30] } },
  ],
  [
    { type: "session.thinned", data: { drop: "reasoning", spans: [{ from: 1, to: 2, ...later }] } },
    { drop: "reasoning", spans: [{ from: 10, to: 20, ...later }] },
  ],
  [
    { type: "session.redacted", data: { ranges: [{ from: 1, to: 2, ...later }], reason: "a" } },
    { ranges: [{ from: 10, to: 20, ...later }], reason: "a" },
  ],
  [
    { type: "session.forked", data: { from: { session: "s", position: 8, ...later } } },
    { from: { session: "s", position: 80, ...later } },
  ],
  // Its parent's log is another one.
  [
    { type: "session.forked", data: { from: { session: "s", position: 3 } } },
    { from: { session: "s", position: 3 } },
  ],
  [
    { type: "session.seen", data: { by: "ann", turn: 3 } },
    { by: "ann", turn: 3 },
  ],
];

it.each(pointing)("the positions in an event move, and nothing else in it: %j", (body, data) => {
  const event = at(9, body);
  Object.assign(event.data, later);
  expect(movedPositions(event, (position) => 10 * position)).toEqual({
    ...event,
    data: { ...data, ...later },
  });
});

it("events that stay are numbered anew, and point at the nearest earlier one that stays", () => {
  const rewound = (to: number): EventBody => ({ type: "session.rewound", data: { to } });
  const seen: EventBody = { type: "session.seen", data: { by: "ann", turn: 1 } };
  const events = [undefined, at(2, seen), undefined, at(4, rewound(3)), at(5, rewound(1))];
  expect(renumbered([...events, at(6, rewound(4))])).toEqual([
    { ...at(2, seen), position: 1 },
    { ...at(4, rewound(1)), position: 2 },
    { ...at(5, rewound(1)), position: 3 },
    { ...at(6, rewound(2)), position: 4 },
  ]);
});

describe("the events that a replay can produce", () => {
  const start = (block: string, dropped?: true): EventBody => ({
    type: "part.reasoning-start",
    data: { id: block, ...(dropped && { dropped }) },
  });
  const delta = (block: string, text = "a"): EventBody => ({
    type: "part.reasoning-delta",
    data: { id: block, text },
  });
  const end = (block: string): EventBody => ({ type: "part.reasoning-end", data: { id: block } });
  const kept = (...bodies: readonly EventBody[]): readonly boolean[] =>
    replayableEvents(bodies.map((body, index) => at(index + 1, body))).map(
      (event) => event !== undefined,
    );

  it("are without links of the chain, and the digest at the end", () => {
    const closed: EventBody = { type: "session.closed", data: { reason: "done", digest } };
    const chained: EventBody = { type: "session.chained", data: { digest } };
    const bare: EventBody = { type: "session.closed", data: { reason: "done" } };
    expect(replayableEvents([at(1, chained), at(2, closed)])).toEqual([undefined, at(2, bare)]);
    expect(unchained([at(1, chained), at(2, closed)])).toEqual([{ ...at(2, bare), position: 1 }]);
  });

  it("are without what says that a log was thinned, and without dropped parts", () => {
    const raw = (dropped?: true): EventBody => ({
      type: "part.raw",
      data: { rawValue: 1, ...(dropped && { dropped }) },
    });
    expect(
      kept(
        { type: "session.thinned", data: { drop: "reasoning", spans: [{ from: 1, to: 1 }] } },
        raw(),
        raw(true),
      ),
    ).toEqual([false, true, false]);
  });

  it("are without a block of reasoning that was dropped, and with another of its id later", () => {
    expect(
      kept(start("b", true), delta("b"), start("c"), delta("c"), end("b"), delta("b"), end("c")),
    ).toEqual([false, false, true, true, false, true, true]);
    const ended: EventBody = { type: "turn.ended", data: { turn: 1, reason: "stop" } };
    expect(kept(start("b", true), ended, delta("b"))).toEqual([false, true, true]);
  });

  it("are without empty deltas, unless these say more", () => {
    expect(
      kept(
        { type: "part.text-delta", data: { id: "b", text: "" } },
        { type: "part.text-delta", data: { id: "b", text: "a" } },
        { type: "part.text-delta", data: { id: "b", text: "", providerMetadata: {} } },
        { type: "part.tool-input-delta", data: { id: "b", delta: "" } },
        { type: "part.tool-input-delta", data: { id: "b", delta: "{" } },
      ),
    ).toEqual([false, true, true, false, true]);
  });
});
