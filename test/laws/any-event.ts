/**
 * Any event of the catalogue, in any order, over so few ids that they meet: what a log may hold
 * after bugs, old releases and hands. Nothing here makes sense, and every fold must bear it.
 */

import * as fc from "fast-check";
import type {
  EventBody,
  EventMap,
  EventType,
  JsonValue,
  SessionEvent,
} from "../../src/events/index.ts";
import { eventDataOf } from "../events/event-arbitraries.ts";

const few = fc.integer({ min: 1, max: 3 });
const json = fc.constantFrom<JsonValue[]>(null, 1, "text", {}, { key: "a", toString: 1 }, [[]]);

type AnyType = Exclude<EventType, `app.${string}`> | "app.noted";

const anyData: { readonly [Type in AnyType]: fc.Arbitrary<EventMap[Type]> } = {
  // Names that every object has already, or that are special when they are assigned.
  ...eventDataOf({
    text: fc.constantFrom("", " ", "one ", "two", "\ud83d", "\ude00", "__proto__"),
    callId: fc.constantFrom("c1", "constructor", "__proto__"),
    messageId: fc.constantFrom("m1", "m2", "constructor", "__proto__"),
    blockId: fc.constantFrom("b1", "b2"),
    effectId: fc.constantFrom("e1", "e2"),
    toolName: fc.constantFrom("read", "toString"),
    number: few,
    position: fc.integer({ min: 1, max: 40 }),
    count: fc.nat({ max: 500 }),
    time: few,
    digest: fc.constantFrom("a".repeat(64), "b".repeat(64)),
    json,
    object: fc.constantFrom({}, { key: "a", toString: 1 }),
    message: fc.constantFrom(
      { role: "user", content: "added" },
      { role: "user", content: "" },
      { role: "system", content: "added" },
      { role: "assistant", content: [{ type: "text", text: "added" }] },
      { role: "tool", content: [] },
    ),
  }),
  unknown: fc.record({ type: fc.constant("future.event"), version: few, data: json }),
};

function anyOf(types: readonly AnyType[]): fc.Arbitrary<EventBody> {
  return fc
    .constantFrom(...types)
    .chain((type) => anyData[type].map((data) => ({ type, data }) as EventBody));
}

/** Any event; every other one of those that meet most: a call, its end, and what closes its step. */
const anyBody: fc.Arbitrary<EventBody> = fc.oneof(
  anyOf(Object.keys(anyData) as AnyType[]),
  anyOf(["step.started", "part.tool-call", "tool.succeeded", "turn.ended", "message.delivered"]),
);

/** A log of any events, numbered without a gap. */
export const anyEvents: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(anyBody, { maxLength: 80, size: "max" })
  .map(numbered);

function numbered(bodies: readonly EventBody[]): readonly SessionEvent[] {
  // Through JSON: what a log holds has no prototypes and no undefined fields.
  return bodies.map(
    (body, index) =>
      JSON.parse(
        JSON.stringify({ position: index + 1, time: 1000 + index, ...body }),
      ) as SessionEvent,
  );
}
