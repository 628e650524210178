/** The hash chain over a session's events: no change of any of them leaves the digests behind it as they were. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCodec } from "../../src/events/rows/codec.ts";
import { canonicalJson } from "../../src/events/values/json.ts";
import { eventLine, parseEventLine } from "../../src/events/checks/session-file.ts";
import { HashChain, type ChainLink } from "../../src/events/rows/hash-chain.ts";
import type { NewEvent, SessionEvent } from "../../src/events/catalogue/catalogue.ts";
import { eventOf, knownTypes } from "./event-arbitraries.ts";

const codec = createCodec();
const link = (position: number, digest = ""): ChainLink => ({
  position,
  time: 5000,
  type: "session.chained",
  data: { digest },
});

const events: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(
    fc.constantFrom(...knownTypes.filter((type) => !/chained|closed/.test(type))).chain(eventOf),
    { minLength: 1, maxLength: 8 },
  )
  .map((some) => some.map((event, index) => ({ ...event, position: index + 1 })));

function digestOf(covered: readonly SessionEvent[]): string {
  const chain = new HashChain();
  for (const event of covered) chain.take(event);
  return chain.digest(link(covered.length + 1));
}

describe("a hash chain", () => {
  it("is the SHA-256 over canonical JSON, a line for each event, which any other program can compute", () => {
    const created: SessionEvent = {
      position: 1,
      time: 1000,
      type: "session.resumed",
      data: { reason: "é\n" },
    };
    const text =
      '[1,1000,"session.resumed",1,{"reason":"é\\n"}]\n[2,5000,"session.chained",1,{}]\n';
    expect(digestOf([created])).toBe(createHash("sha256").update(text).digest("hex"));
  });

  it("covers a delta in canonical JSON too, its fields in the order of their names", () => {
    const place = { position: 1, time: 1000 } as const;
    const text = 'é"\n\ud83d';
    const deltas: readonly SessionEvent[] = [
      { ...place, type: "part.text-delta", data: { text, id: "0" } },
      { ...place, type: "part.reasoning-delta", data: { id: "0", text } },
      { ...place, type: "part.tool-input-delta", data: { id: "0", delta: text }, id: "e" },
      { ...place, type: "part.text-delta", data: { text, id: "0", providerMetadata: {} } },
    ];
    for (const delta of deltas) {
      const { position, time, type, data, id } = delta;
      const fields = [position, time, type, 1, data, ...(id === undefined ? [] : [id])];
      const lines = `${canonicalJson(fields)}\n[2,5000,"session.chained",1,{}]\n`;
      expect(digestOf([delta])).toBe(createHash("sha256").update(lines).digest("hex"));
    }
  });

  it("is the same of what was recorded, stored and read, and exported and imported", () => {
    fc.assert(
      fc.property(events, (recorded) => {
        const place = (position: number) => ({ session: "s", position });
        const read = recorded.map((event) =>
          codec.decode(codec.encode(event, place(event.position)), place(event.position)),
        );
        const imported = read.map((event) =>
          parseEventLine(eventLine(event), place(event.position)),
        );
        expect(digestOf(read)).toBe(digestOf(recorded));
        expect(digestOf(imported)).toBe(digestOf(recorded));
      }),
    );
  });

  it("is that of what JSON makes of a value that it cannot hold", () => {
    const output = {
      at: new Date(0),
      wind: undefined,
      run: () => 1,
      list: [undefined, Number.NaN],
    };
    const event: SessionEvent = {
      position: 1,
      time: 1,
      type: "unknown",
      // What a caller without types may hand in.
      data: { type: "odd", version: 1, data: Object.assign({}, output) as never },
    };
    const key = { session: "s", position: 1 };
    expect(digestOf([codec.decode(codec.encode(event, key), key)])).toBe(digestOf([event]));
  });

  it("does not depend on the order in which an object's fields were written", () => {
    const of = (data: SessionEvent<"message.queued">["data"]): string =>
      digestOf([{ position: 1, time: 1, type: "message.queued", data }]);
    expect(of({ id: "m", content: "x", delivery: "steer" })).toBe(
      of({ delivery: "steer", content: "x", id: "m" }),
    );
  });

  it("is another one when any event is changed, left out, put in or moved", () => {
    fc.assert(
      fc.property(events, fc.nat(), fc.integer({ min: 1, max: 9 }), (some, which, shift) => {
        const at = which % some.length;
        const event = some[at];
        if (event === undefined) throw new Error("no event");
        const digest = digestOf(some);
        expect(digestOf(some.with(at, { ...event, time: event.time + shift }))).not.toBe(digest);
        expect(digestOf(some.with(at, { ...event, id: `${event.id}x` }))).not.toBe(digest);
        expect(digestOf(some.toSpliced(at, 1))).not.toBe(digest);
        expect(digestOf(some.toSpliced(at, 0, event))).not.toBe(digest);
        const said: SessionEvent = {
          ...event,
          type: "unknown",
          data: { type: event.type, version: 1, data: { other: shift } },
        };
        expect(digestOf(some.with(at, said))).not.toBe(digest);
      }),
    );
  });

  it("covers the link before, and begins anew behind it", () => {
    const chain = new HashChain();
    chain.take({ position: 1, time: 1, type: "session.resumed", data: {} });
    expect([chain.open, chain.end]).toEqual([1, undefined]);
    const first = link(2, chain.digest(link(2)));
    chain.take(first);
    expect([chain.open, chain.end]).toEqual([0, { position: 2, digest: first.data.digest }]);
    const other = new HashChain();
    other.take(link(2, "0".repeat(64)));
    expect(other.digest(link(3))).not.toBe(chain.digest(link(3)));
    // Of what came before, the digest of the link is all that is needed.
    const resumed = new HashChain();
    resumed.take(first);
    expect(resumed.digest(link(3))).toBe(chain.digest(link(3)));
  });

  it("is the same before and after an upgrade: an event that is upcast is hashed and written as it was", () => {
    const key = { session: "s", position: 1 };
    const data = { id: "m", text: "hello", delivery: "steer" };
    const fields = ["message.queued", 1, 7, data] as const;
    const stored = JSON.stringify(fields);
    const event = codec.eventOf(fields, key);
    expect(event.data).toMatchObject({ content: "hello" });
    const line = '[1,7,"message.queued",1,{"delivery":"steer","id":"m","text":"hello"}]\n';
    const text = `${line}[2,5000,"session.chained",1,{}]\n`;
    const digest = createHash("sha256").update(text).digest("hex");
    expect(digestOf([event])).toBe(digest);
    const again: NewEvent = parseEventLine(eventLine(event), key);
    const row = codec.encode(again, key);
    expect(row.slice(7)).toBe(stored);
    for (const read of [codec.decode(row, key), codec.decodeOwn(row, key)]) {
      expect(read).toEqual(event);
      expect(digestOf([read])).toBe(digest);
    }
  });
});
