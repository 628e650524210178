/** The user's own tools, taken unchanged: how they are run, and what becomes of what they answer. */

import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openMemoryLog } from "../../src/index.ts";
import { gate, scriptedModel } from "../../src/testing/index.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const nothing = z.object({});

function containing(text: string): unknown {
  return expect.stringContaining(text);
}

/** Runs one turn in which the model makes these calls and then says that it is done. */
async function turnWith(
  tools: ToolSet,
  ...calls: readonly ReturnType<typeof call>[]
): Promise<OpenSession & { readonly told: readonly unknown[] }> {
  const model = scriptedModel([calling(...calls), "Done."]);
  const open = await openSession({ model, tools });
  const { finishReason } = await (await open.session.send("Go.")).result;
  expect(finishReason).toBe("stop");
  const answer = model.calls[1]?.prompt.find((message) => message.role === "tool");
  const told = (answer?.content ?? []).map((part) =>
    part.type === "tool-result" ? part.output : part,
  );
  return { ...open, told };
}

async function endOf(open: OpenSession, callId: string): Promise<unknown> {
  const all = await open.events();
  return all.findLast(
    ({ type, data }) =>
      /^tool\.(succeeded|failed|unknown|denied|skipped)$/.test(type) &&
      "callId" in data &&
      data.callId === callId,
  );
}

describe("the calls of a step", () => {
  it("run side by side up to the limit, and the next one starts when a place comes free", async () => {
    const gates = [gate(), gate(), gate(), gate()];
    let running = 0;
    let most = 0;
    const wait = tool({
      inputSchema: z.object({ place: z.int() }),
      execute: async ({ place }) => {
        running += 1;
        most = Math.max(most, running);
        gates[place]?.arrive?.();
        await gates[place]?.until;
        running -= 1;
        return place;
      },
    });
    const calls = gates.map((_, place) => call("wait", `c${place}`, { place }));
    const model = scriptedModel([calling(...calls), "Done."]);
    await using open = await openSession({ model, tools: { wait }, toolConcurrency: 2 });
    const turn = await open.session.send("Go.");
    await Promise.all([gates[0]?.reached, gates[1]?.reached]);
    const started = (await open.types()).filter((type) => type === "tool.started");
    expect(started).toHaveLength(2);
    gates[1]?.open();
    await gates[2]?.reached;
    for (const one of gates) one.open();
    await turn.result;
    expect(most).toBe(2);
    const ends = (await open.events()).filter(({ type }) => type === "tool.succeeded");
    expect(ends.map(({ data }) => ("callId" in data ? data.callId : ""))[0]).toBe("c1");
    const answer = model.calls[1]?.prompt.at(-1);
    expect(JSON.stringify(answer).match(/"toolCallId":"c\d"/g)).toEqual(
      ["c0", "c1", "c2", "c3"].map((id) => `"toolCallId":"${id}"`),
    );
  });

  it("are announced in the log, durably, before any of them is run", async () => {
    const before: string[][] = [];
    const look = tool({
      inputSchema: nothing,
      execute: async () => {
        before.push(
          (await open.events()).flatMap(({ type, data }) =>
            type === "tool.started" && "callId" in data ? [data.callId] : [],
          ),
        );
      },
    });
    const model = scriptedModel([calling(call("look", "1"), call("look", "2")), "Done."]);
    await using open = await openSession({ model, tools: { look } });
    await (
      await open.session.send("Go.")
    ).result;
    expect(before).toHaveLength(2);
    for (const ids of before) expect(ids).toEqual(["1", "2"]);
  });

  it("keep apart, step by step, though the provider uses the same call id again", async () => {
    const model = scriptedModel([
      calling(call("echo", "same", { value: "one" })),
      calling(call("echo", "same", { value: "two" })),
      "Done.",
    ]);
    await using open = await openSession({ model, tools: { echo } });
    await (
      await open.session.send("Go.")
    ).result;
    const { toolCalls } = await open.session.view();
    expect(toolCalls.map(({ step, status, effectId }) => [step, status, effectId])).toEqual([
      [1, "succeeded", "s/1/same"],
      [2, "succeeded", "s/2/same"],
    ]);
    const results = model.calls[2]?.prompt.flatMap(({ role, content }) =>
      role === "tool" ? JSON.stringify(content) : [],
    );
    expect(results).toEqual([containing("one"), containing("two")]);
  });

  it("of which one is invalid, unknown or without a way to be run fail, and the others run", async () => {
    await using open = await turnWith(
      {
        echo,
        strict: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
        client: tool({ inputSchema: nothing }),
      },
      call("strict", "1", { town: "Ulm" }),
      call("strict", "2", "{ not JSON"),
      call("absent", "3"),
      call("client", "4"),
      call("echo", "5", { value: "fine" }),
    );
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.failed",
      data: { error: { name: "AI_InvalidToolInputError" } },
    });
    expect(await endOf(open, "2")).toMatchObject({
      type: "tool.failed",
      data: { error: { name: "AI_InvalidToolInputError" } },
    });
    expect(await endOf(open, "3")).toMatchObject({
      type: "tool.failed",
      data: { error: { name: "AI_NoSuchToolError" } },
    });
    expect(await endOf(open, "4")).toMatchObject({
      type: "tool.failed",
      data: { error: { message: containing("execute") } },
    });
    expect(await endOf(open, "5")).toMatchObject({ type: "tool.succeeded" });
    expect(open.told).toHaveLength(5);
    expect((await open.types()).filter((type) => type === "tool.started")).toHaveLength(1);
  });
});

describe("a tool is given", () => {
  it("its input as its schema makes it, the messages before the call, and a signal", async () => {
    const given: unknown[] = [];
    const date = tool({
      inputSchema: z.object({
        day: z.string().transform((day) => new Date(day)),
        zone: z.string().default("UTC"),
      }),
      execute: (input, { toolCallId, messages, abortSignal }) => {
        given.push(input, toolCallId, messages, abortSignal?.aborted);
      },
    });
    await using open = await turnWith({ date }, call("date", "7", { day: "2026-01-01" }));
    expect(given).toEqual([
      { day: new Date("2026-01-01"), zone: "UTC" },
      "7",
      [{ role: "user", content: "Go." }],
      false,
    ]);
    expect(await open.types()).toContain("tool.succeeded");
  });

  it.each(["language-model-call", "stream-text"] as const)(
    "its input while the model writes it, by way of %s",
    async (stepSource) => {
      const heard: string[] = [];
      const listening = tool({
        inputSchema: z.object({ city: z.string() }),
        onInputStart: ({ toolCallId }) => {
          heard.push(`start ${toolCallId}`);
        },
        onInputDelta: ({ inputTextDelta }) => {
          heard.push(inputTextDelta);
        },
        onInputAvailable: ({ input }) => {
          heard.push(`all of ${input.city}`);
        },
        execute: () => "ok",
      });
      const deltas = ['{"city":', '"Ulm"}'];
      const model = scriptedModel([
        calling(
          { ...call("listening", "1", { city: "Ulm" }), deltas },
          call("listening", "2", "{ not"),
        ),
        "Done.",
      ]);
      await using open = await openSession({ model, tools: { listening } }, { stepSource });
      await (
        await open.session.send("Go.")
      ).result;
      expect(heard).toEqual(["start 1", ...deltas, "all of Ulm", "start 2", "{ not"]);
    },
  );

  it("the same input when its call waited for approval over a restart", async () => {
    const given: unknown[] = [];
    const agent = {
      tools: {
        date: tool({
          inputSchema: z.object({ day: z.string().transform((day) => new Date(day)) }),
          // oxlint-disable-next-line typescript/no-deprecated -- a tool that is taken unchanged has it
          needsApproval: true,
          execute: ({ day }) => {
            given.push(day);
          },
        }),
      },
    };
    const script = calling(call("date", "1", { day: "2026-01-01" }));
    await using log = await openMemoryLog();
    const door = severableLog(log);
    const dying = await openSession({ ...agent, model: scriptedModel([script]) }, { log: door });
    await dying.session.send("Go.");
    await seen(dying.session, "tool.approval-requested");
    door.sever();
    await using again = await openSession({ ...agent, model: scriptedModel(["Done."]) }, { log });
    await again.session.approve("1");
    await again.session.idle();
    expect(given).toEqual([new Date("2026-01-01")]);
  });
});

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

  it("is told to the model as `toModelOutput` has it, and kept whole in the log", async () => {
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

describe("a tool whose time is up", () => {
  const slow = { inputSchema: nothing };

  it("is told to stop, and has failed when it does", async () => {
    const obedient = tool({
      ...slow,
      execute: async (_, { abortSignal }) => {
        const stopped = Promise.withResolvers<string>();
        abortSignal?.addEventListener("abort", () => stopped.reject(abortSignal.reason));
        return await stopped.promise;
      },
    });
    const model = scriptedModel([calling(call("obedient", "1")), "Done."]);
    await using open = await openSession(
      { model, tools: { obedient }, toolTimeoutMs: 1 },
      { graceMs: 60_000 },
    );
    await (
      await open.session.send("Go.")
    ).result;
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.failed",
      data: {
        error: { name: "TimeoutError", message: containing("longer than 1 ms") },
      },
    });
  });

  it("is left behind when it does not listen: its outcome is unknown, and the model is told so", async () => {
    const late = gate();
    const deaf = tool({
      ...slow,
      execute: async () => {
        await late.until;
        return "too late";
      },
    });
    const model = scriptedModel([
      calling(call("deaf", "1"), call("echo", "2", { value: 2 })),
      "Done.",
    ]);
    await using open = await openSession({
      model,
      tools: { deaf, echo },
      toolTimeoutMs: { deaf: 1 },
    });
    await (
      await open.session.send("Go.")
    ).result;
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.unknown",
      data: { reason: "timed-out" },
    });
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.succeeded" });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("Outcome unknown");
    const before = (await open.session.view()).position;
    late.open();
    await late.until;
    await (await reopen(open, { model: scriptedModel([]) })).runtime.close();
    expect((await open.events()).slice(before).map(({ type }) => type)).toEqual([
      "session.configured",
    ]);
  });

  it("may run as long as it likes when no limit is set for it by name", async () => {
    const ready = gate();
    const patient = tool({
      ...slow,
      execute: async () => {
        ready.arrive?.();
        await ready.until;
        return "at last";
      },
    });
    const deaf = tool({ ...slow, execute: () => new Promise<string>(() => {}) });
    const model = scriptedModel([calling(call("patient", "1"), call("deaf", "2")), "Done."]);
    await using open = await openSession({
      model,
      tools: { patient, deaf },
      toolTimeoutMs: { deaf: 1 },
    });
    const turn = await open.session.send("Go.");
    await seen(open.session, "tool.unknown", ({ callId }) => callId === "2");
    ready.open();
    await turn.result;
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.succeeded",
      data: { output: "at last" },
    });
  });
});
