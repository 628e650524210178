/** What is told of a session, event by event, and of a call before it is agreed to. */
import { describe, expect, it } from "vitest";
import { EventLines, questionLines, type ToldCall } from "../../src/cli/wording/event-lines.ts";
import type { CallQuestion, EventBody, JsonValue } from "../../src/events/index.ts";

function texts(call: ToldCall): readonly string[] {
  return questionLines(call).map(({ text }) => text);
}

function lines(input: JsonValue, reason?: string): readonly string[] {
  const call = { callId: "c1", toolName: "run", input };
  return texts(reason === undefined ? call : { ...call, reason });
}

describe("a call that is asked about", () => {
  it("is shown field by field, texts as they are", () => {
    expect(lines({ path: "a.txt", text: "one\n  two\n", mode: { append: true } })).toEqual([
      "? run waits for your answer.",
      "    path: a.txt",
      "    text:",
      "      one",
      "        two",
      "      ",
      '    mode: {"append":true}',
    ]);
  });

  it("is shown whole when its input has no fields", () => {
    expect(lines(["rm", "-r"])).toEqual(["? run waits for your answer.", '    input: ["rm","-r"]']);
  });

  it("says why it is asked about, where somebody said so", () => {
    expect(lines({}, "Run it again?")).toEqual(["? run waits for your answer. Run it again?"]);
  });

  it("says what a running call asks, and how to answer", () => {
    const asked = (question: CallQuestion) =>
      texts({ callId: "c1", toolName: "book", input: {}, question });
    const url = "https://trip.test/in";
    expect(asked({ kind: "login-required", from: "Trip", url })).toEqual([
      "? book: Trip needs a login. Log in at https://trip.test/in and then answer y.",
    ]);
    const properties = { seats: { type: "integer" }, row: { enum: ["front", "back"] } };
    const form = { kind: "form", from: "Trip", message: "Where?", schema: { properties } } as const;
    expect(asked(form)).toEqual([
      "? book: Trip: Where? seats (integer), row (front | back). Answer seats=…, row=… or n.",
    ]);
  });

  it("says how much of it is not shown", () => {
    const text = Array.from({ length: 15 }, (_, index) => `line ${index}`).join("\n");
    expect(lines({ text }).at(-1)).toBe("      … 3 lines more");
    expect(lines({ text: "x".repeat(450) }).at(-1)).toMatch(/x{400}… 50 characters more$/);
  });
});

function told(bodies: readonly EventBody[], isWhole = true): readonly string[] {
  const reading = new EventLines({ isWhole });
  const events = bodies.map((body, index) => ({ position: index + 1, time: 0, ...body }));
  return events.flatMap((event) => reading.take(event).map(({ text }) => text));
}

describe("a session that is told", () => {
  it("has each message where it is delivered, and only then", () => {
    const queued = (id: string): EventBody => ({
      type: "message.queued",
      data: { id, content: `text of ${id}`, delivery: "follow-up" },
    });
    const delivered: EventBody = {
      type: "message.delivered",
      data: { ids: ["b", "a"], turn: 1, boundary: "turn" },
    };
    expect(told([queued("a"), queued("b")])).toEqual([]);
    expect(told([queued("a"), queued("b"), delivered])).toEqual(["> text of b", "> text of a"]);
    expect(told([queued("a"), delivered], false)).toEqual([]);
  });

  it("names the files that a model makes, and what the model is told of a rewind", () => {
    const file = { mediaType: "image/png", data: "AA==" };
    expect(
      told([
        { type: "part.file", data: file },
        { type: "session.rewound", data: { to: 1, note: "2 calls had run" } },
      ]),
    ).toEqual(["[image/png]", "Told to the model: 2 calls had run"]);
  });

  it("says where an output was repaired", () => {
    const ended = (output: { readonly value: JsonValue; readonly repaired?: true }): EventBody => ({
      type: "turn.ended",
      data: { turn: 1, reason: "stop", output },
    });
    const words = "The output was repaired before it was read.";
    expect(told([ended({ value: 1, repaired: true })])).toContain(words);
    expect(told([ended({ value: 1 })])).not.toContain(words);
  });

  it("says who cancelled a turn, and why", () => {
    const cancel = (data: object): EventBody => ({
      type: "turn.cancel-requested",
      data: { turn: 1, ...data },
    });
    expect(told([cancel({ reason: "wrong customer", by: "ann" })])).toEqual([
      "Cancel requested by ann: wrong customer",
    ]);
    expect(told([cancel({ reason: "the runtime was closed" })])).toEqual([
      "Cancel requested: the runtime was closed",
    ]);
    // The turn's end says that it was cancelled.
    expect(told([cancel({})])).toEqual([]);
    expect(told([cancel({ reason: "wrong customer" })], false)).toEqual([]);
  });
});
