/** What the model is shown of a call: each end in its own words, and long results by their two ends. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelOutput } from "../../src/events/index.ts";
import type { CallOutcome, CallPart } from "../../src/projections/history-item.ts";
import {
  cutCall,
  cutGap,
  cutText,
  partsPair,
  providerOutput,
  resultOutput,
  resultText,
} from "../../src/projections/shown-result.ts";
import { runs } from "../support/runs.ts";

function ended(outcome: CallOutcome, more: Partial<CallPart> = {}): CallPart {
  return { kind: "call", callId: "c", toolName: "work", input: {}, outcome, ...more };
}

const success = (output: string, modelOutput?: ModelOutput): CallPart =>
  ended({
    status: "succeeded",
    position: 1,
    output,
    ...(modelOutput === undefined ? {} : { modelOutput }),
  });

const error = { name: "Error", message: "0123456789" };
const text = (one: string): { readonly type: "text"; readonly text: string } => ({
  type: "text",
  text: one,
});
const image = { type: "image-data", data: "AA==", mediaType: "image/png" } as const;

describe("a result in words", () => {
  it.each<[string, CallPart, string | undefined]>([
    ["text", success("Done."), "Done."],
    ["an error in words", ended({ status: "failed", error }), "0123456789"],
    ["JSON", success("", { type: "json", value: { a: [1] } }), '{"a":[1]}'],
    ["JSON of an error", success("", { type: "error-json", value: "no" }), '"no"'],
    ["the texts of content", success("", { type: "content", value: [text("a"), text("b")] }), "ab"],
    ["a refusal", success("", { type: "execution-denied", reason: "no" }), undefined],
    ["a call that still runs", ended({ status: "running" }), undefined],
    ["a denied call", ended({ status: "denied" }), undefined],
  ])("%s", (_, part, expected) => {
    expect(resultText(part)).toBe(expected);
  });
});

describe("a call that has no result is not mistaken for one that failed", () => {
  it("says of a skipped call whether it was started, and why", () => {
    const said = (reason: string, more: Partial<CallPart> = {}): string =>
      JSON.stringify(resultOutput(ended({ status: "skipped", reason }, more)));
    expect(said("cancelled")).toMatch(/Not run: the turn was cancelled .*no effect/);
    expect(said("recovered")).toMatch(/the process died/);
    expect(said("timed-out")).toMatch(/the time was up/);
    expect(said("anything")).toMatch(/the reply was cut off/);
    const outputRequest = { position: 1, requestedAt: 1 };
    expect(said("cancelled", { outputRequest })).toMatch(/No output: .*client/);
  });

  it("says of an unknown call that it may have taken effect", () => {
    const shown = resultOutput(ended({ status: "unknown", reason: "recovered" }));
    expect(shown).toMatchObject({
      type: "error-text",
      value: expect.stringMatching(/unknown.*the process died.*may have taken effect/) as unknown,
    });
  });

  it("tells calls that wait, run or lack a client's output apart", () => {
    const said = (outcome: CallOutcome): string => JSON.stringify(resultOutput(ended(outcome)));
    for (const status of ["running", "approved"] as const)
      expect(said({ status })).toContain("Still running");
    expect(said({ status: "awaiting-output" })).toContain("No output yet");
    for (const status of ["waiting", "awaiting-approval"] as const)
      expect(said({ status })).toContain("Not run yet");
  });

  it("has the reason of a denied call, if there is one", () => {
    for (const status of ["denied", "refused"] as const) {
      expect(resultOutput(ended({ status }))).toStrictEqual({ type: "execution-denied" });
      const reason = "Too dear.";
      expect(resultOutput(ended({ status, reason }))).toStrictEqual({
        type: "execution-denied",
        reason,
      });
    }
  });
});

/** A list in a list, so many levels deep. */
function nested(levels: number): unknown[] {
  let value: unknown[] = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}

it("shows outputs of providers as text or JSON, errors as such, and none that is nested too deep", () => {
  expect(providerOutput("a", false)).toEqual({ type: "text", value: "a" });
  expect(providerOutput({ a: 1 }, false)).toEqual({ type: "json", value: { a: 1 } });
  expect(providerOutput({ a: 1 }, true)).toEqual({ type: "error-json", value: { a: 1 } });
  expect(providerOutput(null, false)).toEqual({ type: "json", value: null });
  const deep = nested(10_000) as never;
  for (const isError of [true, false])
    for (const _ of ["first", "again"])
      expect(providerOutput(deep, isError)).toMatchObject({ type: "error-text" });
});

const anyText = fc.string({ unit: fc.constantFrom("a", "\n", "\ud83d\ude00"), maxLength: 60 });
const anyMark = fc.record({
  head: fc.nat(30),
  tail: fc.nat(30),
  call: fc.constant("c"),
});

it.each([
  ["\ud800\udc00", true],
  ["\udbff\udfff", true],
  ["\ud7ff\udc00", false],
  ["\udc00\udc00", false],
  ["\ud800\udbff", false],
  ["\ud800\ue000", false],
  ["ab", false],
])("two halves of one character are a pair, and nothing else: %j", (two, isPair) => {
  expect(partsPair(two, 1)).toBe(isPair);
  expect([partsPair(two, 0), partsPair(two, 2)]).toEqual([false, false]);
});

describe("a cut", () => {
  it("keeps the two ends, splits no character, and leaves out what is between them", () => {
    fc.assert(
      fc.property(anyText, anyMark, (whole, mark) => {
        const gap = cutGap(whole, mark);
        fc.pre(gap !== undefined);
        expect(gap.from).toBeLessThanOrEqual(mark.head);
        expect(mark.head - gap.from).toBeLessThanOrEqual(1);
        expect(whole.length - gap.to).toBeLessThanOrEqual(mark.tail);
        expect(mark.tail - (whole.length - gap.to)).toBeLessThanOrEqual(1);
        const shown = cutText(whole, mark);
        const [head, tail] = [whole.slice(0, gap.from), whole.slice(gap.to)];
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.startsWith(head)).toBe(true);
        expect(shown.endsWith(`]\n${tail}`)).toBe(true);
        expect(shown).toContain(`[${gap.to - gap.from} of ${whole.length} characters left out`);
        // The note begins a line, and adds no empty one.
        const note = shown.indexOf(`[${gap.to - gap.from} of`);
        expect(note).toBe(head === "" || head.endsWith("\n") ? head.length : head.length + 1);
      }),
      runs(300),
    );
  });

  it("leaves a text that is short enough as it is, and no longer one", () => {
    fc.assert(
      fc.property(anyText, anyMark, (whole, mark) => {
        const isShown = cutGap(whole, mark) === undefined;
        expect(isShown && whole.length > mark.head + mark.tail).toBe(false);
        expect(cutText(whole, mark) === whole).toBe(isShown);
      }),
      runs(300),
    );
  });

  it("names the tool that reads on, and from where", () => {
    const mark = { head: 3, tail: 2, call: "c 1", reader: "read_result" };
    expect(cutText("0123456789", mark)).toBe(
      '012\n[5 of 10 characters left out here. To read them: read_result({"call":"c 1","from":3})]\n89',
    );
    expect(cutText("0123456789", { head: 3, tail: 2, call: "c" })).toBe(
      "012\n[5 of 10 characters left out here.]\n89",
    );
  });
});

describe("a call with its result cut", () => {
  const mark = { head: 2, tail: 2, call: "c" };
  const cut = "01\n[6 of 10 characters left out here.]\n89";

  it("keeps its kind of end: text, an error in words, an error of the tool", () => {
    expect(resultOutput(cutCall(success("0123456789"), mark))).toEqual({
      type: "text",
      value: cut,
    });
    const failed = cutCall(ended({ status: "failed", error }), mark);
    for (const part of [failed, cutCall(success("0123456789"), mark)])
      expect(part).toMatchObject({ kind: "call", callId: "c", toolName: "work", input: {} });
    expect(failed.outcome).toEqual({ status: "failed", error: { name: "Error", message: cut } });
    const own = { type: "error-text", value: "0123456789" } as const;
    const told = cutCall(ended({ status: "failed", error, modelOutput: own }), mark);
    expect(told.outcome).toEqual({
      status: "failed",
      error,
      modelOutput: { type: "error-text", value: cut },
    });
    const json = success("", { type: "error-json", value: "01234567" });
    expect(resultOutput(cutCall(json, mark))).toMatchObject({ type: "error-text" });
    const fine = success("", { type: "json", value: "01234567" });
    expect(resultOutput(cutCall(fine, mark))).toMatchObject({ type: "text" });
  });

  it("is the same call if nothing is left out, or there is no result", () => {
    for (const part of [success("0123"), ended({ status: "running" }), ended({ status: "denied" })])
      expect(cutCall(part, mark)).toBe(part);
  });

  it("is cut across the texts of its content, and keeps parts that are not text in their places", () => {
    const shown = (...value: readonly (typeof image | ReturnType<typeof text>)[]): unknown => {
      const output = resultOutput(
        cutCall(success("", { type: "content", value: [...value] }), mark),
      );
      return output.type === "content" ? output.value : output;
    };
    expect(shown(text("01"), image, text("234567"), text("89"))).toEqual([
      text("01"),
      image,
      text("[6 of 10 characters left out here.]\n"),
      text("89"),
    ]);
    expect(shown(text("0123"), image, text("45"), text("6789"))).toEqual([
      text("01\n[6 of 10 characters left out here.]\n"),
      image,
      text("89"),
    ]);
    expect(shown(text(""), text("0123456789"))).toEqual([text(""), text(cut)]);
  });
});
