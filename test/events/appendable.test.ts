/** An event that a program hands in is refused as invalid, whatever it throws while it is looked at. */
import { expect, it } from "vitest";
import { TurnlogError, type NewEvent } from "../../src/events/index.ts";
import { assertAppendable, idOf } from "../../src/events/checks/appendable.ts";

const good: NewEvent = { type: "session.seen", time: 1, data: { by: "ann", turn: 1 } };

function throwing(thrown: unknown): NewEvent {
  return Object.defineProperty({ ...good }, "type", {
    enumerable: true,
    get: () => {
      throw thrown;
    },
  });
}

it.each([
  ["an error", new Error("No.")],
  ["nothing", undefined],
  ["what looks like one of turnlog's", { code: "EVENT_TOO_NEW" }],
  ["an error of turnlog's about something else", new TurnlogError("LOG_FAILED", "No.")],
])("an event that throws %s is refused with its place", (_, thrown) => {
  expect(() => {
    assertAppendable("s", 3, throwing(thrown));
  }).toThrow(
    new TurnlogError(
      "EVENT_INVALID",
      "An event for s:3 was not appended: it throws when it is read. Nothing of this append was written.",
      { session: "s", position: 3 },
    ),
  );
});

it("an event that a later release wrote is said to be one", () => {
  const newer = new TurnlogError("EVENT_TOO_NEW", "No.");
  expect(() => {
    assertAppendable("s", 3, throwing(newer));
  }).toThrow(newer);
});

it("what was recorded here is not looked at again", () => {
  expect(() => {
    assertAppendable("s", 3, throwing(new Error("No.")), { origin: "recorded" });
  }).not.toThrow();
  expect(() => {
    assertAppendable("s", 3, good);
  }).not.toThrow();
});

it("an event of a later release is taken from a copy only, and if its type is none of today's", () => {
  const later = (type: string): NewEvent => ({
    type: "unknown",
    time: 1,
    data: { type, version: 1, data: {} },
  });
  const append = (type: string, origin?: "copied") => (): void => {
    assertAppendable("s", 3, later(type), origin && { origin });
  };
  expect(append("step.dreamt", "copied")).not.toThrow();
  expect(append("step.dreamt")).toThrow("its type is not known here");
  for (const known of ["", "session.seen", "app.paid"])
    expect(append(known, "copied")).toThrow("it is not an event of a later release");
});

it("content that no prompt can contain is taken from a copy only: earlier releases accepted it", () => {
  const part = { type: "text", text: "a", providerOptions: { openai: 1 } };
  const data = { id: "m", content: [part], delivery: "steer" };
  // @ts-expect-error As a program without types may give it.
  const event: NewEvent = { type: "message.queued", time: 1, data };
  const append = (origin?: "copied") => (): void => {
    assertAppendable("s", 3, event, origin && { origin });
  };
  expect(append()).toThrow("its `providerOptions` are not all objects");
  expect(append("copied")).not.toThrow();
});

it("an id is a text", () => {
  expect(idOf({ ...good, id: "a" })).toBe("a");
  for (const other of [good, { id: 1 }, null, undefined, "a"]) expect(idOf(other)).toBeUndefined();
});
