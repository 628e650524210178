/** A long text that a tool answers and a model gets is stored once, and read as it was. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCodec, checksum, type RowKey } from "../../src/events/rows/codec.ts";
import {
  HashChain,
  plainJson,
  type JsonValue,
  type NewEvent,
  type SessionEvent,
} from "../../src/events/index.ts";
import { parseEventLine, eventLine } from "../../src/events/checks/session-file.ts";
import { storedForm } from "../../src/events/rows/stored-form.ts";

const codec = createCodec();
const key: RowKey = { session: "s", position: 7 };
const long = "A long answer. ".repeat(200);

function answered(output: JsonValue, value: readonly JsonValue[]): NewEvent<"tool.succeeded"> {
  const data = { step: 1, callId: "c", output, modelOutput: { type: "content", value } };
  // Parts of any kind: only the kind of a model output is checked.
  return { type: "tool.succeeded", time: 1, data } as unknown as NewEvent<"tool.succeeded">;
}

function rowOf(...fields: readonly JsonValue[]): string {
  const json = JSON.stringify(fields);
  return checksum(json, key) + json;
}

function digestAfter(event: SessionEvent): string {
  const chain = new HashChain();
  chain.take(event);
  return chain.digest({ position: 8, time: 1, type: "session.chained", data: { digest: "" } });
}

describe("a text that the model gets as the tool said it", () => {
  it("is in the row once, whatever else is in the result", () => {
    const event = answered({ content: [{ text: "short" }, { text: long }] }, [
      { type: "text", text: "short" },
      { type: "text", text: long },
      { type: "text", text: long },
    ]);
    expect(codec.encode(event, key).length).toBeLessThan(long.length + 500);
    expect(eventLine({ ...event, position: 7 }).length).toBeLessThan(long.length + 500);
  });

  it("is read as it was, from a row and from a file, in the same order of keys", () => {
    const texts = fc.constantFrom("", "short", long, `${long}!`);
    const json = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        texts,
        fc.constantFrom(null, 1),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "0", "__proto__", "text"), tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(json, fc.array(json, { maxLength: 3 }), (output, value) => {
        const event = answered(output, value);
        const read = codec.decode(codec.encode(event, key), key);
        expect(JSON.stringify(read.data)).toBe(JSON.stringify(event.data));
        const again = parseEventLine(eventLine({ ...event, position: 7 }), key);
        expect(JSON.stringify(again.data)).toBe(JSON.stringify(event.data));
        expect(codec.encode(read, key)).toBe(codec.encode(event, key));
      }),
    );
  });

  it("is stored twice where an earlier release stored it so, and keeps its place in the hash chain", () => {
    const { data } = answered(long, [{ type: "text", text: long }]);
    const plain = plainJson(data) ?? null;
    const row = rowOf("tool.succeeded", 1, 1, plain);
    const read = codec.decode(row, key);
    expect(storedForm(read)).toMatchObject({ version: 1, data });
    expect(codec.encode(read, key)).toBe(row);
    // As the earlier release hashed it: an event of no known type has its data as it is.
    const raw = { type: "tool.succeeded", version: 1, data: plain };
    expect(digestAfter(read)).toBe(
      digestAfter({ position: 7, time: 1, type: "unknown", data: raw }),
    );
  });
});

it.each([
  [
    "leads nowhere",
    [
      [
        ["value", 0, "text"],
        ["content", 1],
      ],
    ],
  ],
  ["leads to no text", [[["value", 0, "text"], []]]],
  ["is no path", [["value"]]],
  ["is missing", undefined],
])("refuses a row whose reference %s", (_, repeats) => {
  const modelOutput = { type: "content", value: [{ type: "text", text: "" }] };
  const data = { step: 1, callId: "c", output: { content: [long] }, modelOutput };
  const row = rowOf("tool.succeeded", 2, 1, repeats === undefined ? data : { ...data, repeats });
  expect(() => codec.decode(row, key)).toThrow(expect.objectContaining({ code: "EVENT_INVALID" }));
});

it("refuses a later version than it writes", () => {
  const row = rowOf("tool.succeeded", 3, 1, { step: 1, callId: "c", output: 1 });
  expect(() => codec.decode(row, key)).toThrow(expect.objectContaining({ code: "EVENT_TOO_NEW" }));
});
