/** The lines of an exported session: which forms are read, and that every field of them is checked. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventLine, parseEventLine } from "../../src/events/checks/session-file.ts";
import { TurnlogError, type SessionEvent } from "../../src/events/index.ts";

const key = { session: "s", position: 7 };
const event: SessionEvent = {
  position: 7,
  time: 5,
  type: "turn.started",
  data: { turn: 1, maxSteps: 9 },
  id: "once",
};
const { position, time, ...rest } = event;
const now = { position, time, version: 1, ...rest };
const earlier = { seq: position, at: time, version: 1, ...rest };

it("is read as it was written, and in the form of earlier releases", () => {
  expect(JSON.parse(eventLine(event))).toEqual(now);
  for (const line of [now, earlier])
    expect(parseEventLine(JSON.stringify(line), key)).toStrictEqual(event);
});

describe.each(Object.entries({ now, earlier }))("a line of the form of %s", (_name, line) => {
  // The only text that JSON reads as an infinite number.
  const wrong = (field: string, by: unknown): string =>
    JSON.stringify({ ...line, [field]: by }).replace('"endless"', "1e999");

  it.each(Object.keys(line).filter((field) => field !== "id"))("needs its %s", (field) => {
    expect(() => parseEventLine(wrong(field, undefined), key)).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT", session: "s", position: 7 }),
    );
  });

  it.each(
    Object.entries({
      position: ["7", 0, -7, 7.5],
      seq: ["7", 0, -7, 7.5],
      time: ["5", null, "endless"],
      at: ["5", null, "endless"],
      type: [1, null],
      version: ["1", 0, -1, 1.5, 2 ** 60],
      id: [1, null],
      more: [1],
    }).flatMap(([field, values]) =>
      field === "more" || Object.hasOwn(line, field)
        ? values.map((value) => [field, value] as const)
        : [],
    ),
  )("is refused where its field %s is %j", (field, value) => {
    expect(() => parseEventLine(wrong(field, value), key)).toThrow(
      /^The line of event 7 is not an event: /u,
    );
  });

  it("may have no id", () => {
    expect(parseEventLine(wrong("id", undefined), key)).not.toHaveProperty("id");
  });
});

it.each(["null", "[]", "7", "no JSON", "{}"])("%s is refused as a line", (line) => {
  expect(() => parseEventLine(line, key)).toThrow(/^The line of event 7 is not an event: /u);
});

it("of another position is refused by both", () => {
  const other = JSON.stringify({ ...now, position: 8 });
  expect(() => parseEventLine(other, key)).toThrow(
    /^Where event 7 is due, the file has event 8: /u,
  );
});

describe("the line of a delta", () => {
  const line = (text: string, place = "7"): string =>
    `{"position":${place},"time":5,"type":"part.text-delta","version":1,"data":{"id":"0","text":"${text}"}}`;

  it("is written and read as JSON is, whatever its text is and whatever was written before", () => {
    const strings = fc.string({ unit: "binary", maxLength: 20 });
    const types = fc.constantFrom("part.text-delta", "part.reasoning-delta");
    fc.assert(
      fc.property(
        fc.constantFrom(5, 6, -15, 1_234_567_890_123),
        types,
        fc.oneof(fc.constant("0"), strings),
        strings,
        (at, type, id, text) => {
          const delta = { position: 7, time: at, type, data: { id, text } } as const;
          const written = { position: 7, time: at, type, version: 1, data: { id, text } };
          expect(eventLine(delta)).toBe(JSON.stringify(written));
          expect(parseEventLine(eventLine(delta), key)).toStrictEqual(delta);
        },
      ),
    );
    for (const text of ["", "a\u2028b", "\ud83d", "x".repeat(5000)])
      expect(parseEventLine(line(text), key).data).toEqual({ id: "0", text });
  });

  it("has all that the delta has, in its order", () => {
    const place = { position: 7, time: 5, type: "part.text-delta" } as const;
    const deltas: readonly SessionEvent[] = [
      { ...place, data: { text: "a", id: "0" } },
      { ...place, data: { id: "0", text: "a", providerMetadata: {} } },
      { ...place, data: { id: "0", text: "a" }, id: "once" },
    ];
    for (const delta of deltas) {
      const { id, data, ...rest } = delta;
      const last = id === undefined ? {} : { id };
      expect(eventLine(delta)).toBe(JSON.stringify({ ...rest, version: 1, data, ...last }));
    }
  });

  it.each([
    ["has a quote that ends its text", line('a"b')],
    ["has a control character", line("a\u0001b")],
    ["has a lone backslash", line("a\\")],
    ["has a position that begins with a zero", line("a", "07")],
    ["has no position", line("a", "")],
    ["is of another position", line("a", "8")],
    ["has a time that begins with a zero", line("a").replace(":5,", ":05,")],
    ["has no time", line("a").replace(":5,", ":,")],
    ["is cut off", line("a").slice(0, -1)],
    ["has no text", line("a").replace('a"}}', '"}}').slice(0, -3)],
    ["begins with another character", line("a").replace("{", "[")],
    ["has something behind it", `${line("a")} 1`],
    ["has one field more", line("a").replace('"version"', '"more":1,"version"')],
  ])("is refused if it %s", (_how, given) => {
    expect(() => parseEventLine(given, key)).toThrow(TurnlogError);
  });
});
