/** Whatever a tool answers or throws, the log keeps it and the model is told. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { call } from "../support/script.ts";
import { containing, endOf, nothing, turnWith } from "./tools.ts";

describe("what a tool answers", () => {
  const cycle: { name: string; self?: unknown } = { name: "cycle" };
  cycle.self = cycle;
  class Point {
    readonly x = 1;
  }

  it.each([
    ["text", "plain", "plain", { type: "text", value: "plain" }],
    ["nothing", undefined, null, { type: "json", value: null }],
    ["null", null, null, { type: "json", value: null }],
    [
      "a date",
      new Date(0),
      "1970-01-01T00:00:00.000Z",
      { type: "json", value: "1970-01-01T00:00:00.000Z" },
    ],
    [
      "a big integer",
      { big: 2n ** 70n },
      { big: "1180591620717411303424" },
      { type: "json", value: { big: "1180591620717411303424" } },
    ],
    [
      "a cycle",
      cycle,
      { name: "cycle", self: "[Circular]" },
      { type: "json", value: { name: "cycle", self: "[Circular]" } },
    ],
    ["undefined fields", { a: undefined, b: 1 }, { b: 1 }, { type: "json", value: { b: 1 } }],
    ["an object of a class", new Point(), { x: 1 }, { type: "json", value: { x: 1 } }],
    ["a map", new Map([["a", 1]]), {}, { type: "json", value: {} }],
    ["not a number", Number.NaN, null, { type: "json", value: null }],
    ["a function", () => 1, null, { type: "json", value: null }],
  ])("is stored and told as JSON when it is %s", async (_, answer, output, modelOutput) => {
    const odd = tool({ inputSchema: nothing, execute: (): unknown => answer });
    await using open = await turnWith({ odd }, call("odd", "1"));
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.succeeded",
      data: { output },
    });
    expect(open.told).toEqual([modelOutput]);
  });

  it("is kept whole, however large it is, and shown by its beginning and its end", async () => {
    const large = "0123456789abcdef".repeat(50 * 2 ** 16);
    const odd = tool({ inputSchema: nothing, execute: () => large });
    await using open = await turnWith({ odd }, call("odd", "1"));
    const all = await open.events();
    const stored = all.find((event) => event.type === "tool.succeeded");
    expect(stored?.data.output === large).toBe(true);
    const [told] = open.told;
    const note = `of ${large.length} characters left out here.`;
    expect(told).toMatchObject({ type: "text", value: containing(note) });
    expect(JSON.stringify(told).length).toBeLessThan(200_000);
  });

  it("reaches the model as `toModelOutput` makes it, and kept whole in the log", async () => {
    const picture = tool({
      inputSchema: nothing,
      execute: () => ({ pixels: [1, 2, 3] }),
      toModelOutput: ({ output, toolCallId }) => ({
        type: "content",
        value: [{ type: "text", text: `${output.pixels.length} pixels for ${toolCallId}` }],
      }),
    });
    await using open = await turnWith({ picture }, call("picture", "1"));
    expect(await endOf(open, "1")).toMatchObject({ data: { output: { pixels: [1, 2, 3] } } });
    expect(open.told).toEqual([
      { type: "content", value: [{ type: "text", text: "3 pixels for 1" }] },
    ]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no picture");
      },
    ],
    ["answers something else", () => ({ type: "poem" })],
  ])("counts as succeeded when `toModelOutput` %s: its work is done", async (_, toModelOutput) => {
    const picture = tool({ inputSchema: nothing, execute: () => "ok" });
    const broken = { ...picture, toModelOutput: toModelOutput as never };
    await using open = await turnWith({ picture: broken }, call("picture", "1"));
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.succeeded",
      data: { output: "ok" },
    });
    expect(open.told).toEqual([{ type: "error-text", value: containing("The tool succeeded") }]);
  });

  it("comes in parts when it is an async iterable, and the last part is the answer", async () => {
    const count = tool({
      inputSchema: nothing,
      execute: async function* () {
        yield { done: 1 };
        yield { done: 2 };
        yield { done: 3 };
      },
    });
    await using open = await turnWith({ count }, call("count", "1"));
    const progress = (await open.events()).filter((event) => event.type === "tool.progressed");
    expect(progress.map(({ data }) => data.output)).toEqual([
      { done: 1 },
      { done: 2 },
      { done: 3 },
    ]);
    expect(open.told).toEqual([{ type: "json", value: { done: 3 } }]);
  });

  it("that fails after some parts has failed, and the parts are kept", async () => {
    const count = tool({
      inputSchema: nothing,
      execute: async function* (): AsyncGenerator<string> {
        yield "half";
        throw new Error("no more");
      },
    });
    await using open = await turnWith({ count }, call("count", "1"));
    expect(await open.types()).toContain("tool.progressed");
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.failed",
      data: { error: { message: "no more" } },
    });
  });
});

describe("a tool that throws", () => {
  it.each([
    [
      "an error",
      new RangeError("too far", { cause: new Error("the road") }),
      { name: "RangeError", message: "too far", cause: { message: "the road" } },
    ],
    [
      "an error with fields",
      Object.assign(new Error("full"), { code: "ENOSPC", path: "/a" }),
      { message: "full", code: "ENOSPC", path: "/a" },
    ],
    ["a text", "just words", { name: "NonError", message: "Non-error value: just words" }],
    ["nothing", undefined, { name: "NonError", message: "Non-error value: undefined" }],
    ["an object", { reason: "odd" }, { name: "Error", message: '{"reason":"odd"}', reason: "odd" }],
    ["a number", 42, { name: "NonError", message: "Non-error value: 42" }],
  ])("%s has failed, and the model is told", async (_, thrown, error) => {
    const broken = tool({
      inputSchema: nothing,
      execute: async (): Promise<string> => {
        // Tools throw what they like.
        // oxlint-disable-next-line typescript/only-throw-error
        throw thrown;
      },
    });
    await using open = await turnWith({ broken }, call("broken", "1"));
    expect(await endOf(open, "1")).toMatchObject({ type: "tool.failed", data: { error } });
    expect(open.told).toMatchObject([{ type: "error-text" }]);
  });
});
