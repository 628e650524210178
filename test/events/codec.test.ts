/** What is stored is what was meant: every event type, old versions, later ones, and altered rows. */
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checksum, createCodec, seededChecksum, type RowKey } from "../../src/events/rows/codec.ts";
import { crc32 } from "../../src/events/rows/crc32.ts";
import { eventSchemas } from "../../src/events/catalogue/catalogue.ts";
import { TurnlogError } from "../../src/events/values/errors.ts";
import { storedForm } from "../../src/events/rows/stored-form.ts";
import { eventData, eventOf, knownTypes } from "./event-arbitraries.ts";
import { runs, times } from "../support/runs.ts";

const codec = createCodec();
const place: RowKey = { session: "s", position: 7 };

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    return TurnlogError.isInstance(error) ? error.code : String(error);
  }
  return undefined;
}

function row(fields: unknown, key: RowKey = place): string {
  const json = JSON.stringify(fields);
  return checksum(json, key) + json;
}

it("a checksum is a CRC-32 in seven digits of base 36, whatever it is", () => {
  for (let seed = 0; seed < 5000; seed++)
    expect(seededChecksum("text", seed)).toBe(crc32("text", seed).toString(36).padStart(7, "0"));
});

it("a row begins with the checksum of its JSON, seeded with the session's name and the position", () => {
  const json = '["turn.started",1,5,{"turn":1,"maxSteps":9}]';
  const event = { type: "turn.started", time: 5, data: { turn: 1, maxSteps: 9 } } as const;
  const seed = (crc32("s") + place.position) >>> 0;
  expect(codec.encode(event, place)).toBe(seededChecksum(json, seed) + json);
});

describe("every event type", () => {
  it("is generated here", () => {
    // The catalogue has no types of programs; this one is an example.
    const types = [...Object.keys(eventSchemas), "app.noted"];
    expect(Object.keys(eventData).toSorted()).toEqual(types.toSorted());
    expect(knownTypes).toHaveLength(types.length);
  });

  it.each(knownTypes)("comes back from a row as it was: %s", (type) => {
    fc.assert(
      fc.property(eventOf(type), (event) => {
        const stored = codec.encode(event, place);
        expect(codec.decode(stored, place)).toStrictEqual({
          ...structuredClone(event),
          position: place.position,
        });
        expect(codec.decodeOwn(stored, place)).toStrictEqual({
          ...structuredClone(event),
          position: place.position,
        });
      }),
      { numRuns: times(50) },
    );
  });

  it.each(knownTypes)("is refused with its place when its data does not fit: %s", (type) => {
    const stored = row([type, type === "message.queued" ? 2 : 1, 1, "no data of an event"]);
    expect(() => codec.decode(stored, place)).toThrow(
      expect.objectContaining({ code: "EVENT_INVALID", session: "s", position: 7 }),
    );
    expect(() => codec.decode(stored, place)).toThrow("The rest of the log can be read, from 8 on");
  });
});

it("takes as a result, which it looks at by hand, exactly what the schema takes", () => {
  const maybe = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> =>
    fc.constantFrom(undefined, ...values);
  const data = fc.oneof(
    fc.record({
      step: maybe<unknown>(1, 7, 0, -1, 1.5, 2 ** 60, "1", null),
      callId: maybe<unknown>("a", "", 7, null),
      output: maybe<unknown>(null, "text", 0, [1], { a: 1 }),
      modelOutput: maybe<unknown>(null, "text", {}, { type: "text" }, { type: "other" }, [1]),
      more: maybe<unknown>(1),
    }),
    fc.jsonValue(),
  );
  const schema = eventSchemas["tool.succeeded"];
  fc.assert(
    fc.property(data, (given) => {
      // As it is stored: without what is undefined.
      const stored: unknown = JSON.parse(JSON.stringify(given));
      const code = codeOf(() => codec.decode(row(["tool.succeeded", 1, 1, stored]), place));
      expect(code).toBe(schema.safeParse(stored).success ? undefined : "EVENT_INVALID");
    }),
    runs(1000),
  );
});

it("takes no result as the end of a call that failed", () => {
  const result = { step: 1, callId: "a", output: "three" };
  expect(codeOf(() => codec.decode(row(["tool.failed", 1, 1, result]), place))).toBe(
    "EVENT_INVALID",
  );
});

it("refuses a row whose checksum is right and whose text is not JSON", () => {
  const forged = '["turn.ended",1,2,{}';
  expect(codeOf(() => codec.decode(checksum(forged, place) + forged, place))).toBe("LOG_DAMAGED");
});

describe("a type that this release does not know", () => {
  it("is shown as it is, and is byte for byte the same when it is written again", () => {
    const fields = fc.tuple(
      fc.string().filter((type) => !Object.hasOwn(eventSchemas, type)),
      fc.integer({ min: 1, max: 99 }),
      fc.nat(),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fields,
        fc.option(fc.string(), { nil: undefined }),
        ([type, version, at, data], id) => {
          const stored = row(
            id === undefined ? [type, version, at, data] : [type, version, at, data, id],
          );
          const event = codec.decode(stored, place);
          expect(event).toMatchObject({
            position: 7,
            time: at,
            type: "unknown",
            data: { type, version },
          });
          expect(event.id).toBe(id);
          expect(codec.encode(event, place)).toBe(stored);
        },
      ),
    );
  });

  it("is not mistaken for what every object has by birth", () => {
    for (const type of ["constructor", "__proto__", "toString", "unknown"]) {
      expect(codec.decode(row([type, 1, 1, null]), place)).toMatchObject({
        type: "unknown",
        data: { type },
      });
    }
  });
});

describe("versions", () => {
  it("reads events that version 1 has written", async () => {
    const text = await readFile(new URL("../../fixtures/events/v1.jsonl", import.meta.url), "utf8");
    const events = text
      .trimEnd()
      .split("\n")
      .map((json, index) => {
        const key = { session: "s", position: index + 1 };
        return codec.decode(checksum(json, key) + json, key);
      });
    expect(events.map(({ type }) => type)).toEqual([
      "session.created",
      "message.queued",
      "message.delivered",
      "turn.started",
      "message.queued",
      "unknown",
      "part.text-delta",
      "session.rewound",
    ]);
    expect(events[1]).toEqual({
      position: 2,
      time: 1_700_000_000_100,
      id: "m1",
      type: "message.queued",
      data: { id: "m1", content: "Which files mention zod?", delivery: "follow-up" },
    });
    expect(events[4]?.data).toEqual({
      id: "m2",
      content: "",
      delivery: "steer",
      source: "a field that a later release added",
    });
    expect(events[5]?.data).toEqual({
      type: "weather.changed",
      version: 3,
      data: { from: "rain", to: ["sun", { "°C": 21.5 }], nothing: null },
    });
  });

  it("writes the current version of a type, which old releases would refuse", () => {
    const stored = codec.encode(
      { type: "message.queued", time: 1, data: { id: "m", content: "x", delivery: "steer" } },
      place,
    );
    expect(stored.slice(7)).toBe(
      '["message.queued",2,1,{"id":"m","content":"x","delivery":"steer"}]',
    );
  });

  it("takes every step from an old version to the current one, in order", () => {
    const steps = createCodec({
      "message.queued": {
        1: (data) => ({ id: "m", delivery: "steer", content: JSON.stringify(data) }),
      },
    });
    expect(steps.decode(row(["message.queued", 1, 1, { old: true }]), place).data).toMatchObject({
      content: '{"old":true}',
    });
  });

  it("writes an event of an old version as it was stored, and reads it again from that row", () => {
    const old = row(["message.queued", 1, 1, { id: "m", text: "x", delivery: "steer" }, "id"]);
    const event = codec.decode(old, place);
    expect(event).toMatchObject({ id: "id", data: { content: "x" } });
    expect(codec.encode(event, place)).toBe(old);
    expect(codec.decodeOwn(old, place)).toEqual(event);
    expect(codec.encode(codec.decodeOwn(old, place), place)).toBe(old);
    // Only what was upcast remembers another form.
    const copied = codec.encode({ ...event, data: event.data } as typeof event, place);
    expect(copied.slice(7)).toBe(
      '["message.queued",2,1,{"id":"m","delivery":"steer","content":"x"},"id"]',
    );
    const now = codec.decode(copied, place);
    expect(storedForm(now)).toEqual({ type: "message.queued", version: 2, data: now.data });
  });

  it("refuses what a later release wrote, and what there is no way from", () => {
    const later = row(["turn.started", 2, 1, { turn: 1, maxSteps: 1 }]);
    expect(codeOf(() => codec.decode(later, place))).toBe("EVENT_TOO_NEW");
    const delta = row(["part.text-delta", 2, 1, { id: "t", text: "a" }]);
    expect(codeOf(() => codec.decode(delta, place))).toBe("EVENT_TOO_NEW");
    const own = row(["app.noted", 2, 1, {}]);
    expect(() => codec.decode(own, place)).toThrow(
      "The event at s:7 is app.noted version 2; this release of turnlog reads up to version 1.",
    );
    const noWay = row(["message.queued", 1, 1, {}]);
    expect(() => createCodec({}).decode(noWay, place)).toThrow(
      "message.queued has no way from version 1 to 2.",
    );
  });

  it("says that an event is invalid when its old version is", () => {
    expect(codeOf(() => codec.decode(row(["message.queued", 1, 1, { id: "m" }]), place))).toBe(
      "EVENT_INVALID",
    );
  });
});

describe("a row that is not what was written", () => {
  const stored = codec.encode(
    {
      type: "part.text-delta",
      time: 1_700_000_000_000,
      data: { id: "0", text: "hello é 💥" },
      id: "x",
    },
    place,
  );

  it("is found whichever bit was flipped", () => {
    const bytes = Buffer.from(stored);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(
        codeOf(() => codec.decode(altered.toString("utf8"), place)),
        `bit ${bit}`,
      ).toBe("LOG_DAMAGED");
    }
  });

  it("is found wherever it was cut, and when it is in another place", () => {
    for (let length = 0; length < stored.length; length++) {
      expect(codeOf(() => codec.decode(stored.slice(0, length), place))).toBe("LOG_DAMAGED");
    }
    for (const key of [
      { session: "s", position: 8 },
      { session: "s", position: 6 },
      { session: "t", position: 7 },
      { session: "S", position: 7 },
    ]) {
      expect(codeOf(() => codec.decode(stored, key))).toBe("LOG_DAMAGED");
    }
  });

  it("is found when its checksum is right and its form is not", () => {
    for (const fields of [
      null,
      {},
      [],
      ["x"],
      ["x", 1, 1],
      ["x", 0, 1, 1],
      ["x", 1.5, 1, 1],
      [1, 1, 1, 1],
      ["x", 1, "1", 1],
      ["x", 1, 1, 1, 1],
      ["x", 1, 1, 1, null],
      ["x", 1, 1, 1, "i", 2],
      ["x", 1, 1, 1, 1, 1],
      ["x", 1, 1, 1, "i", 1, 1],
    ]) {
      expect(
        codeOf(() => codec.decode(row(fields), place)),
        JSON.stringify(fields),
      ).toBe("LOG_DAMAGED");
    }
  });
});
