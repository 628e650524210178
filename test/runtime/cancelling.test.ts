/** Cancelling: at any moment, with anything that does not want to stop; what had come is kept. */

import { APICallError, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { dropOldest } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { systemTimer } from "../../src/shared/index.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const nothing = z.object({});
const sources = ["language-model-call", "stream-text"] as const;

/** A model whose stream stops after some words and ignores its signal. */
function deafModel(after: ScriptedModel, words: readonly string[]) {
  let deaf = true;
  return {
    ...after,
    doStream: async (options: Parameters<ScriptedModel["doStream"]>[0]) => {
      if (!deaf) return await after.doStream(options);
      deaf = false;
      return {
        stream: new ReadableStream({
          start: (controller) => {
            controller.enqueue({ type: "stream-start" as const, warnings: [] });
            controller.enqueue({ type: "text-start" as const, id: "t" });
            for (const delta of words)
              controller.enqueue({ type: "text-delta" as const, id: "t", delta });
          },
        }),
      };
    },
  };
}

describe.each(sources)("while the model speaks, by way of %s", (stepSource) => {
  it("ends the turn, and what was said is shown to the model in the next one", async () => {
    const hold = gate();
    const thought = { type: "reasoning", deltas: ["Hm."] } as const;
    const model = scriptedModel([
      calling(
        thought,
        { type: "text", deltas: ["Once upon ", hold] },
        call("echo", "1", { value: 1 }),
      ),
      "Where was I?",
    ]);
    await using open = await openSession({ model, tools: { echo } }, { stepSource });
    const turn = await open.session.send("Tell me a story.");
    await seen(open.session, "part.text-delta");
    expect(await open.session.cancel({ reason: "too long" })).toMatchObject({
      was: "streaming",
      turn: 1,
      kept: { text: "Once upon " },
    });
    expect(await turn.result).toMatchObject({ finishReason: "cancelled", text: "Once upon " });
    expect((await turn.result).usage).toMatchObject({ basis: "estimated" });
    const requested = await seen(open.session, "turn.cancel-requested");
    expect(requested.data).toEqual({ turn: 1, mode: "now", reason: "too long" });
    await (
      await open.session.send("Go on.")
    ).result;
    const prompt = model.calls[1]?.prompt ?? [];
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(prompt[1])).toContain("Once upon ");
  });

  it("ends also when the model does not listen to its signal", async () => {
    const model = deafModel(scriptedModel(["After all."]), ["Blah ", "blah"]);
    await using open = await openSession({ model }, { stepSource });
    const turn = await open.session.send("Go.");
    await seen(open.session, "part.text-delta", ({ text }) => text === "blah");
    await open.session.cancel();
    expect(await turn.result).toMatchObject({ finishReason: "cancelled", text: "Blah blah" });
    expect(await (await open.session.send("Go on.")).result).toMatchObject({ text: "After all." });
  });

  it("ends also before the model has answered at all", async () => {
    const called = gate();
    const scripted = scriptedModel(["never said"]);
    const model = {
      ...scripted,
      doStream: () => {
        called.arrive?.();
        return new Promise<never>(() => {});
      },
    };
    await using open = await openSession({ model }, { stepSource });
    const turn = await open.session.send("Go.");
    await called.reached;
    await open.session.cancel();
    expect(await turn.result).toMatchObject({ finishReason: "cancelled", text: "" });
  });
});

describe("while tools run", () => {
  it("tells them to stop; what stopped has failed, what did not listen is unknown, the rest is skipped", async () => {
    const ready = gate();
    const obedient = tool({
      inputSchema: nothing,
      execute: async (_, { abortSignal }) => {
        const stopped = Promise.withResolvers<string>();
        abortSignal?.addEventListener("abort", () => stopped.reject(abortSignal.reason));
        ready.arrive?.();
        return await stopped.promise;
      },
    });
    const deaf = tool({ inputSchema: nothing, execute: () => new Promise<string>(() => {}) });
    const model = scriptedModel([
      calling(call("deaf", "1"), call("obedient", "2"), call("echo", "3", { value: 3 })),
      "I see.",
    ]);
    const tools = { deaf, obedient, echo };
    await using open = await openSession({ model, tools, toolCallConcurrency: 2 });
    const turn = await open.session.send("Go.");
    await ready.reached;
    expect(await open.session.cancel()).toMatchObject({ was: "tools", turn: 1 });
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    const { toolCalls } = await open.session.view();
    expect(Object.fromEntries(toolCalls.map(({ callId, status }) => [callId, status]))).toEqual({
      1: "unknown",
      2: "failed",
      3: "skipped",
    });
    await (
      await open.session.send("What happened?")
    ).result;
    const told = JSON.stringify(model.calls[1]?.prompt.find(({ role }) => role === "tool"));
    expect(told).toContain("Outcome unknown");
    expect(told).toContain("It had no effect");
  });

  it("takes what a tool says too late for nothing", async () => {
    const late = gate();
    const stubborn = tool({
      inputSchema: nothing,
      execute: async function* () {
        late.arrive?.();
        await late.until;
        yield "still here";
        yield "done after all";
      },
    });
    const model = scriptedModel([calling(call("stubborn", "1"))]);
    await using open = await openSession({ model, tools: { stubborn } });
    const turn = await open.session.send("Go.");
    await late.reached;
    await open.session.cancel();
    await turn.result;
    const { position } = await open.session.view();
    late.open();
    await late.until;
    await open.session.compact(dropOldest({ keepTurns: 9 }));
    const after = (await open.events()).slice(position).map(({ type }) => type);
    expect(after).toEqual(["context.compaction-started", "context.compaction-rejected"]);
  });
});

it("while a call waits to be tried again, does not wait for it", async () => {
  const failure = new APICallError({
    message: "Overloaded",
    statusCode: 529,
    isRetryable: true,
    responseHeaders: { "retry-after": "29" },
    url: "https://provider.invalid",
    requestBodyValues: {},
  });
  const model = scriptedModel([{ failure }, "After all."]);
  await using open = await openSession({ model }, { timer: systemTimer });
  const turn = await open.session.send("Go.");
  const retrying = await seen(open.session, "step.retrying");
  expect(retrying.data.delayMs).toBe(29_000);
  expect(await open.session.cancel()).toMatchObject({ was: "streaming", turn: 1 });
  expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
  expect(model.calls).toHaveLength(1);
  expect(await (await open.session.send("Go.")).result).toMatchObject({ text: "After all." });
});

it("when nothing runs, does nothing", async () => {
  await using open = await openSession({ model: scriptedModel(["Done."]) });
  expect(await open.session.cancel()).toMatchObject({ was: "idle", turn: undefined });
  await (
    await open.session.send("Go.")
  ).result;
  expect(await open.session.cancel()).toMatchObject({ was: "idle", turn: undefined });
  expect(await open.types()).not.toContain("turn.cancel-requested");
});

it("twice at the same time is one cancel", async () => {
  const hold = gate();
  await using open = await openSession({ model: scriptedModel([saying("One ", hold)]) });
  const turn = await open.session.send("Go.");
  await hold.reached;
  const both = await Promise.all([open.session.cancel(), open.session.cancel()]);
  expect(both).toMatchObject([
    { was: "streaming", turn: 1 },
    { was: "streaming", turn: 1 },
  ]);
  expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
  const requests = (await open.types()).filter((type) => type === "turn.cancel-requested");
  expect(requests).toHaveLength(1);
});
