/** Events whose content is encrypted, for every type of the catalogue. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ruleOf } from "../../../src/store/encryption/content-fields.ts";
import {
  decryptedContent,
  encryptedContent,
  withForm,
  isEncrypted,
  decryptedEvent,
  encryptedForm,
} from "../../../src/store/encryption/encrypted-event.ts";
import {
  createCodec,
  isRedacted,
  type NewEvent,
  type SessionEvent,
  loggedForm,
} from "../../../src/events/index.ts";
import { eventOf, knownTypes } from "../../events/event-arbitraries.ts";
import { runs } from "../../support/runs.ts";

const newEvent = fc.constantFrom(...knownTypes).chain(eventOf);
const codec = createCodec();
const key = Buffer.alloc(32, 1);
const place = { session: "s", position: 3 };

/** The event as it is read back from a row that has its encrypted form. */
function logged(event: NewEvent): SessionEvent {
  return codec.decode(
    codec.encode(
      withForm(
        event,
        encryptedForm(event, () => key),
      ),
      place,
    ),
    place,
  );
}

it("is encrypted as a legal event of its type, and decrypted as it was, the order of its fields too", () => {
  fc.assert(
    fc.property(newEvent, (event) => {
      const stored = logged(event);
      expect([stored.type, stored.time, stored.id]).toEqual([event.type, event.time, event.id]);
      const opened = isEncrypted(stored) ? decryptedEvent(stored, key) : stored;
      expect(JSON.stringify(opened?.data)).toBe(JSON.stringify(event.data));
    }),
    runs(1000),
  );
});

/** The fields of an event that are structure. */
function clearIn({ type, data }: SessionEvent | NewEvent): readonly (readonly [string, unknown])[] {
  return Object.entries(data)
    .filter(([field]) => ruleOf(type, field) === "clear")
    .map(([field, value]: [string, unknown]) => [field, value]);
}

/** The fields that are left of those that may be left out. */
function leftIn({ type, data }: SessionEvent): readonly string[] {
  return Object.keys(data).filter(
    (field) => ruleOf(type, field) === "left out" && field !== "redacted",
  );
}

it("reads as a legal event when its key is gone, the same in all that is not content", () => {
  const encrypted = newEvent.filter((event) => isEncrypted(logged(event)));
  fc.assert(
    fc.property(encrypted, (event) => {
      const stored = logged(event);
      const read = decryptedEvent(stored, undefined) ?? stored;
      expect(isRedacted(read)).toBe(true);
      expect(loggedForm(read).data).toEqual(loggedForm(stored).data);
      const row = codec.encode(read, place);
      expect(codec.decode(row, place)).toEqual(read);
      expect(clearIn(read)).toEqual(clearIn(event));
      expect(leftIn(read)).toEqual([]);
    }),
    runs(1000),
  );
});

it("says nothing of its content that is not under the key", () => {
  const planted = "planted-7";
  const deep = { a: [planted, { [planted]: planted }] };
  const said = { providerMetadata: { p: deep }, title: planted, toolMetadata: deep };
  const call = { ...said, toolCallId: "c", toolName: "t", input: deep };
  const error = { name: "Error", message: planted, stack: planted };
  const events: NewEvent[] = [
    { type: "message.queued", time: 1, data: { id: "m", content: planted, delivery: "steer" } },
    {
      type: "message.queued",
      time: 1,
      data: {
        id: "m",
        content: [{ type: "file", data: planted, mediaType: planted, filename: planted }],
        delivery: "steer",
      },
    },
    { type: "part.text-delta", time: 1, data: { id: "0", text: planted } },
    { type: "part.text-delta", time: 1, data: { id: "0", text: planted, ...said } },
    { type: "part.tool-input-delta", time: 1, data: { id: "0", delta: planted } },
    { type: "part.tool-call", time: 1, data: { ...call, error } },
    { type: "part.tool-result", time: 1, data: { ...call, output: deep } },
    { type: "part.source", time: 1, data: deep },
    { type: "part.file", time: 1, data: { data: planted, mediaType: "text/plain" } },
    { type: "tool.succeeded", time: 1, data: { step: 1, callId: "c", output: deep } },
    { type: "tool.failed", time: 1, data: { step: 1, callId: "c", error } },
    { type: "turn.ended", time: 1, data: { turn: 1, reason: "failed", error } },
    { type: "unknown", time: 1, data: { type: "later", version: 1, data: deep } },
  ];
  for (const event of events) {
    expect(JSON.stringify(logged(event)), event.type).not.toContain(planted);
    const read = decryptedEvent(logged(event), undefined);
    expect(JSON.stringify(read), event.type).not.toContain(planted);
  }
});

it("keeps a field that this release does not know under the key", () => {
  const data = { turn: 1, maxSteps: 2, later: "planted-8" };
  const event: NewEvent = { type: "turn.started", time: 1, data };
  expect(JSON.stringify(logged(event))).not.toContain("planted-8");
  expect(decryptedEvent(logged(event), key)?.data).toEqual(data);
});

it("keeps halves of surrogate pairs, which a delta may end with", () => {
  for (const text of ["\ud83d", "\ude00 on", "ÿ", "", "💥"]) {
    const stored = logged({ type: "part.text-delta", time: 1, data: { id: "0", text } });
    expect(decryptedEvent(stored, key)?.data).toEqual({ id: "0", text });
  }
});

describe("encrypted content", () => {
  const other = Buffer.alloc(32, 2);

  it("is decrypted by no other key, as no other kind, and not when a bit of it has changed", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), fc.nat(), (bytes, at) => {
        const encrypted = encryptedContent(key, "kind", Buffer.from(bytes));
        expect(decryptedContent(key, "kind", encrypted)).toEqual(Buffer.from(bytes));
        expect(decryptedContent(other, "kind", encrypted)).toBeUndefined();
        expect(decryptedContent(key, "other", encrypted)).toBeUndefined();
        const changed = Buffer.from(encrypted, "base64url");
        const place = at % changed.length;
        changed[place] = (changed[place] ?? 0) ^ 1;
        expect(decryptedContent(key, "kind", changed.toString("base64url"))).toBeUndefined();
      }),
    );
  });

  it("has another stream for another content, under the same key too", () => {
    const [one, two] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"].map((text) =>
      Buffer.from(encryptedContent(key, "kind", Buffer.from(text)), "base64url").subarray(8),
    );
    const apart = one?.map((byte, at) => byte ^ (two?.[at] ?? 0));
    expect(new Set(apart).size).toBeGreaterThan(1);
  });
});
