/** The user's own tools, taken unchanged: how their calls are run, and what they are given. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openMemoryLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";
import { containing, echo, endOf, nothing, turnWith } from "./tools.ts";

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
    await using open = await openSession({ model, tools: { wait }, toolCallConcurrency: 2 });
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

  it("of which one is invalid or unknown fail, and the others run", async () => {
    await using open = await turnWith(
      {
        echo,
        strict: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city }),
      },
      call("strict", "1", { town: "Ulm" }),
      call("strict", "2", "{ not JSON"),
      call("absent", "3"),
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
    expect(await endOf(open, "5")).toMatchObject({ type: "tool.succeeded" });
    expect(open.told).toHaveLength(4);
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
    const recorder = severableLog(log);
    const dying = await openSession(
      { ...agent, model: scriptedModel([script]) },
      { log: recorder },
    );
    await dying.session.send("Go.");
    await seen(dying.session, "tool.approval-requested");
    recorder.sever();
    await using again = await openSession({ ...agent, model: scriptedModel(["Done."]) }, { log });
    await allow(again.session, "1");
    await again.session.idle();
    expect(given).toEqual([new Date("2026-01-01")]);
  });
});
