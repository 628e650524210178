/** The queue: which messages wait, in which order, and where each was accepted. */

import { expect, it } from "vitest";
import type { EventBody, SessionEvent } from "../../src/events/index.ts";
import { acceptedAt, allWaiting, queue, type QueueState } from "../../src/projections/queue.ts";

function after(...bodies: readonly EventBody[]): QueueState {
  const events = bodies.map((body, index): SessionEvent => ({
    position: index + 1,
    time: (index + 1) * 10,
    ...body,
  }));
  return events.reduce((state, event) => queue.fold(state, event), queue.initial);
}

function queued(id: string, notBefore?: number): EventBody {
  const later = notBefore === undefined ? {} : { notBefore };
  return { type: "message.queued", data: { id, content: id, delivery: "follow-up", ...later } };
}

function moved(id: string, delivery: "steer" | "follow-up", notBefore?: number): EventBody {
  const later = notBefore === undefined ? {} : { notBefore };
  return { type: "message.rescheduled", data: { id, delivery, ...later } };
}

function ids(state: QueueState): readonly string[] {
  return allWaiting(state).map(({ id }) => id);
}

it("keeps each message as it was accepted, and those for later apart", () => {
  expect(after(queued("a"), queued("b", 500))).toStrictEqual({
    waiting: [{ id: "a", content: "a", delivery: "follow-up", position: 1, time: 10 }],
    later: [
      { id: "b", content: "b", delivery: "follow-up", position: 2, time: 20, notBefore: 500 },
    ],
    accepted: [{ a: 1, b: 2 }],
  });
});

it("orders messages for later by their times, and equal times by their acceptance", () => {
  const state = after(
    queued("last", 30),
    queued("first", 10),
    queued("middle", 20),
    queued("now"),
    queued("middle, too", 20),
    queued("before all", 5),
    queued("also now"),
  );
  const later = ["before all", "first", "middle", "middle, too", "last"];
  expect(ids(state)).toEqual(["now", "also now", ...later]);
  expect(state.later.map(({ id }) => id)).toEqual(later);
});

it("loses messages that are delivered or withdrawn, of both kinds, and no others", () => {
  const all = [queued("a"), queued("b"), queued("c", 20), queued("d", 30)];
  const delivered: EventBody = {
    type: "message.delivered",
    data: { ids: ["a", "c"], turn: 1, boundary: "turn" },
  };
  expect(ids(after(...all, delivered))).toEqual(["b", "d"]);
  const withdrawn = (id: string): EventBody => ({ type: "message.withdrawn", data: { ids: [id] } });
  expect(ids(after(...all, withdrawn("d")))).toEqual(["a", "b", "c"]);
  expect(ids(after(...all, withdrawn("b")))).toEqual(["a", "c", "d"]);
});

it("says where a message was accepted, also after its delivery", () => {
  const state = after(queued("a"), queued("b"), {
    type: "message.delivered",
    data: { ids: ["a"], turn: 1, boundary: "turn" },
  });
  expect(acceptedAt(state, "a")).toBe(1);
  expect(acceptedAt(state, "b")).toBe(2);
  expect(acceptedAt(state, "constructor")).toBeUndefined();
});

it("keeps a message's place when only its delivery changes", () => {
  const state = after(queued("a"), queued("b"), queued("c", 50), moved("a", "steer"));
  expect(state).toStrictEqual({
    ...after(queued("a"), queued("b"), queued("c", 50)),
    waiting: [
      { id: "a", content: "a", delivery: "steer", position: 1, time: 10 },
      { id: "b", content: "b", delivery: "follow-up", position: 2, time: 20 },
    ],
  });
});

it("puts a message that is moved to a time at its time, and one that is moved to now at the end", () => {
  const all = [queued("a"), queued("b"), queued("c", 50), queued("d", 70)];
  const toTime = after(...all, moved("a", "steer", 60));
  expect(ids(toTime)).toEqual(["b", "c", "a", "d"]);
  expect(toTime.later[1]).toStrictEqual({
    id: "a",
    content: "a",
    delivery: "steer",
    position: 1,
    time: 10,
    notBefore: 60,
  });
  const toNow = after(...all, moved("c", "steer"));
  expect(ids(toNow)).toEqual(["a", "b", "c", "d"]);
  expect(toNow.later.map(({ id }) => id)).toEqual(["d"]);
  expect(toNow.waiting[2]).toStrictEqual({
    id: "c",
    content: "c",
    delivery: "steer",
    position: 3,
    time: 30,
  });
  expect(ids(after(...all, moved("c", "follow-up", 90)))).toEqual(["a", "b", "d", "c"]);
});

it("ignores a move of a message that does not wait", () => {
  const state = after(queued("a"), queued("b", 20));
  const event = (body: EventBody): SessionEvent => ({ position: 9, time: 9, ...body });
  for (const body of [moved("x", "steer"), moved("x", "steer", 5)])
    expect(queue.fold(state, event(body))).toStrictEqual(state);
});

it("is the same from a snapshot on", () => {
  const state = after(queued("a"), queued("b", 20), queued("__proto__"));
  expect(queue.schema.parse(JSON.parse(JSON.stringify(state)))).toStrictEqual(state);
});
