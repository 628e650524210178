/** Each call of a reply gets an id of its own, whatever ids a model uses, and each part finds its call. */

import { array, assert, constantFrom, property, record, boolean } from "fast-check";
import { describe, expect, it } from "vitest";
import { ReplyIds } from "../../src/runtime/model/reply-ids.ts";
import { isRepeatedId } from "../../src/events/index.ts";
import { runs } from "../support/runs.ts";

interface Part {
  readonly type: string;
  readonly id?: string;
  readonly toolCallId?: string;
  readonly input?: unknown;
  readonly providerExecuted?: boolean;
  readonly preliminary?: boolean;
  readonly toolCall?: { readonly toolCallId: string };
}

/** The recorded ids of a reply's parts. */
function named(...parts: readonly Part[]): readonly unknown[] {
  const ids = new ReplyIds();
  return parts
    .map((part) => ids.named(part))
    .map(({ id, toolCallId, toolCall }) => id ?? toolCallId ?? toolCall?.toolCallId);
}

const called = (toolCallId: string, input?: unknown): Part => ({
  type: "tool-call",
  toolCallId,
  input,
});
const ran = (toolCallId: string, input?: unknown): Part => ({
  ...called(toolCallId, input),
  providerExecuted: true,
});
const result = (toolCallId: string, more: Partial<Part> = {}): Part => ({
  type: "tool-result",
  toolCallId,
  providerExecuted: true,
  ...more,
});
const began = (id: string): Part => ({ type: "tool-input-start", id });
const delta = (id: string): Part => ({ type: "tool-input-delta", id });
const ended = (id: string): Part => ({ type: "tool-input-end", id });

describe("the calls of a reply", () => {
  it("keep different ids, and the parts that are their own objects", () => {
    const ids = new ReplyIds();
    const parts = [
      called("a"),
      ran("b"),
      result("b"),
      began("c"),
      called("c"),
      result("elsewhere"),
    ];
    expect(parts.map((part) => ids.named(part)).every((part, at) => part === parts[at])).toBe(true);
  });

  it("of one id are numbered, also when the provider runs some of them", () => {
    expect(named(called("a"), called("a"), ran("a"), called("b"), called("a"))).toEqual([
      "a",
      "a@2",
      "a@3",
      "b",
      "a@4",
    ]);
  });

  it("never get an id that another call has, whatever the model calls them", () => {
    expect(named(called("a@2"), called("a"), called("a"), called("a@2"))).toEqual([
      "a@2",
      "a",
      "a@3",
      "a@2@2",
    ]);
    const ids = constantFrom("a", "a@2", "a@2@2", "a@3", "", "@2", "__proto__");
    const reply = array(record({ id: ids, streamed: boolean(), run: boolean() }), { maxLength: 9 });
    assert(
      property(reply, (calls) => {
        const parts = calls.flatMap(({ id, streamed, run }) => [
          ...(streamed ? [began(id)] : []),
          run ? ran(id) : called(id),
        ]);
        const ofCalls = named(...parts).filter((_, at) => parts[at]?.type === "tool-call");
        expect(new Set(ofCalls).size).toBe(calls.length);
        // An id changes only where it came before, and shows that it did.
        const changed = calls.filter(({ id }, at) => id !== ofCalls[at]);
        const repeated = calls.filter(({ id }, at) => {
          const before = [...calls.slice(0, at).map((one) => one.id), ...ofCalls.slice(0, at)];
          return before.includes(id) && isRepeatedId(String(ofCalls[at]));
        });
        expect(changed).toEqual(repeated);
      }),
      runs(300),
    );
  });
});

describe("the streamed input of a call whose id came before", () => {
  it("has the id of its own call", () => {
    const one = [began("a"), delta("a"), ended("a"), called("a")];
    expect(named(...one, ...one)).toEqual(["a", "a", "a", "a", "a@2", "a@2", "a@2", "a@2"]);
  });

  it("belongs to the newest input, and the calls come in the order of their inputs", () => {
    const both = [began("a"), delta("a"), began("a"), delta("a"), called("a"), called("a")];
    expect(named(...both)).toEqual(["a", "a", "a@2", "a@2", "a", "a@2"]);
  });
});

describe("the result of a call that the provider ran", () => {
  it("belongs to its call, not to ours of the same id, and tells its input", () => {
    const ids = new ReplyIds();
    for (const part of [ran("a", 1), called("a", 2)]) ids.named(part);
    // The SDK gives it the input of the newest call.
    expect(ids.named(result("a", { input: 2 }))).toMatchObject({ toolCallId: "a", input: 1 });
    expect(named(called("a"), ran("a"), result("a"))).toEqual(["a", "a@2", "a@2"]);
  });

  it("belongs to the oldest call without one, a preliminary one too", () => {
    const early = result("a", { preliminary: true });
    expect(named(ran("a"), ran("a"), early, result("a"), early, result("a"))).toEqual([
      "a",
      "a@2",
      "a",
      "a",
      "a@2",
      "a@2",
    ]);
    expect(named(ran("a"), result("a"), ran("a"), result("a"))).toEqual(["a", "a", "a@2", "a@2"]);
  });

  it("of an earlier reply has the id of the call that waits for it, and ours gets another one", () => {
    const ids = new ReplyIds(["a@2", "b"]);
    const parts = [called("a"), called("b"), result("a"), result("a"), ran("b"), result("b")];
    expect(parts.map((part) => ids.named(part).toolCallId)).toEqual([
      "a",
      "b@2",
      "a@2",
      "a",
      "b",
      "b",
    ]);
  });

  it("of an earlier reply that nobody waits for keeps its id", () => {
    expect(named(called("a"), result("a"))).toEqual(["a", "a"]);
  });
});

it("the SDK's answer to an invalid call, and a provider's question, find their call", () => {
  const error = (toolCallId: string): Part => ({ type: "tool-error", toolCallId });
  expect(named(called("a"), called("a"), error("a"), error("b"))).toEqual(["a", "a@2", "a@2", "b"]);
  const asked: Part = { type: "tool-approval-request", toolCall: { toolCallId: "a" } };
  const askedByModel: Part = { type: "tool-approval-request", toolCallId: "a" };
  expect(named(called("a"), ran("a"), asked, askedByModel)).toEqual(["a", "a@2", "a@2", "a@2"]);
});

it("an id that is none stays as it is, for the schema to refuse", () => {
  const part = { type: "tool-call", toolCallId: 7 };
  const ids = new ReplyIds();
  expect([ids.named(part), ids.named(part)]).toEqual([part, part]);
});
