/** What the scripted model promises to the tests that use it. */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TurnlogError } from "../../src/events/index.ts";
import {
  gate,
  scriptedModel,
  type Script,
  type ScriptedStep,
} from "../../src/models/scripted-model.ts";

const options: LanguageModelV4CallOptions = {
  prompt: [{ role: "user", content: [{ type: "text", text: "go" }] }],
};

async function partsOf(step: ScriptedStep): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await scriptedModel([step]).doStream(options);
  return Array.fromAsync(stream);
}

/** Lets everything run that could run by now. */
function everythingElse(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const toolStep: ScriptedStep = {
  parts: [
    { type: "reasoning", deltas: ["I ", "think"], providerMetadata: { test: { signature: "s" } } },
    {
      type: "tool-call",
      toolCallId: "c1",
      toolName: "add",
      input: { a: 1, b: 2 },
      deltas: ['{"a":1,', '"b":2}'],
    },
  ],
};

describe("scriptedModel", () => {
  it("drives the AI SDK's own loop, one step of the script a call", async () => {
    const model = scriptedModel([toolStep, "three"]);
    const add = tool({
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b,
    });
    const result = streamText({
      model,
      prompt: "1 + 2?",
      tools: { add },
      stopWhen: isStepCount(5),
    });
    expect(await result.text).toBe("three");
    const steps = await result.steps;
    expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]?.toolResults.map((it) => it.output)).toEqual([3]);
    expect(steps[0]?.reasoning).toMatchObject([
      { text: "I think", providerOptions: { test: { signature: "s" } } },
    ]);
  });

  it("keeps the options of every call", async () => {
    const model = scriptedModel(["one", { failure: new Error("refused") }]);
    await model.doGenerate(options);
    const second = { ...options, temperature: 1 };
    await expect(model.doStream(second)).rejects.toThrow("refused");
    expect(model.calls).toEqual([options, second]);
    expect(model.calls[1]).toBe(second);
  });

  it("sends each delta as it is written, inside well-formed blocks", async () => {
    const parts = await partsOf(toolStep);
    expect(parts).toMatchObject([
      { type: "stream-start" },
      { type: "response-metadata", id: "scripted-0" },
      { type: "reasoning-start", id: "reasoning-0" },
      { type: "reasoning-delta", delta: "I " },
      { type: "reasoning-delta", delta: "think" },
      { type: "reasoning-end", providerMetadata: { test: { signature: "s" } } },
      { type: "tool-input-start", id: "c1", toolName: "add" },
      { type: "tool-input-delta", delta: '{"a":1,' },
      { type: "tool-input-delta", delta: '"b":2}' },
      { type: "tool-input-end", id: "c1" },
      { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1,"b":2}' },
      { type: "finish", finishReason: { unified: "tool-calls" } },
    ]);
  });

  it("gives the same blocks and calls whole as in a stream", async () => {
    const { content, finishReason } = await scriptedModel([toolStep]).doGenerate(options);
    expect(content).toEqual([
      { type: "reasoning", text: "I think", providerMetadata: { test: { signature: "s" } } },
      { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1,"b":2}' },
    ]);
    expect(finishReason.unified).toBe("tool-calls");
  });

  it("uses the finish reason, the usage and the response id that the step gives", async () => {
    const usage = {
      inputTokens: { total: 7, noCache: 5, cacheRead: 2, cacheWrite: 0 },
      outputTokens: { total: 3, text: 1, reasoning: 2 },
    };
    const parts = await partsOf({ finishReason: "length", usage, responseId: "r-1" });
    expect(parts).toMatchObject([
      { type: "stream-start" },
      { type: "response-metadata", id: "r-1" },
      { type: "finish", finishReason: { unified: "length" }, usage },
    ]);
  });

  it("sends a raw part and an error part exactly as they are", async () => {
    const file: LanguageModelV4StreamPart = {
      type: "file",
      mediaType: "text/plain",
      data: { type: "data", data: "aGk=" },
    };
    const error = new Error("overloaded");
    const parts = await partsOf({
      parts: [
        { type: "raw-part", part: file },
        { type: "error", error },
      ],
    });
    expect(parts.slice(2)).toMatchObject([
      file,
      { type: "error", error },
      { finishReason: { unified: "error" } },
    ]);
    await expect(
      scriptedModel([{ parts: [{ type: "error", error }] }]).doGenerate(options),
    ).rejects.toBe(error);
  });

  it("breaks the stream where the script says so, after all earlier parts", async () => {
    const lost = new Error("connection lost");
    const { stream } = await scriptedModel([
      {
        parts: [
          { type: "text", deltas: ["half"] },
          { type: "break", error: lost },
        ],
      },
    ]).doStream(options);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const part of stream) seen.push(part.type);
    })();
    await expect(reading).rejects.toBe(lost);
    expect(seen.slice(2)).toEqual(["text-start", "text-delta", "text-end"]);
  });

  it("waits at a gate, between deltas too, until it is opened", async () => {
    const stop = gate();
    const { stream } = await scriptedModel([
      { parts: [{ type: "text", deltas: ["one ", stop, "two"] }] },
    ]).doStream(options);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const part of stream) if (part.type === "text-delta") seen.push(part.delta);
    })();
    await stop.reached;
    await everythingElse();
    expect(seen).toEqual(["one "]);
    stop.open();
    await reading;
    expect(seen).toEqual(["one ", "two"]);
  });

  it("does not run ahead of its reader", async () => {
    let arrived = false;
    const here = {
      type: "gate",
      until: Promise.resolve(),
      arrive: () => (arrived = true),
    } as const;
    const { stream } = await scriptedModel([{ parts: [here] }]).doStream(options);
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    await everythingElse();
    expect(arrived).toBe(false);
    expect((await reader.read()).value?.type).toBe("finish");
    expect(arrived).toBe(true);
  });

  it("breaks the stream where a gate's promise is rejected", async () => {
    const { stream } = await scriptedModel([
      { parts: [{ type: "gate", until: Promise.reject(new Error("no entry")) }] },
    ]).doStream(options);
    await expect(Array.fromAsync(stream)).rejects.toThrow("no entry");
  });

  it("obeys an abort while it waits at a gate", async () => {
    const stop = gate();
    const abort = new AbortController();
    const model = scriptedModel([{ parts: [{ type: "text", deltas: ["one ", stop, "two"] }] }]);
    const { stream } = await model.doStream({ ...options, abortSignal: abort.signal });
    const reading = Array.fromAsync(stream);
    await stop.reached;
    abort.abort(new Error("cancelled"));
    await expect(reading).rejects.toThrow("cancelled");
  });

  it("ends a cancelled stream without waiting for the gate", async () => {
    const stop = gate();
    const { stream } = await scriptedModel([
      { parts: [stop, { type: "text", deltas: ["never"] }] },
    ]).doStream(options);
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    const waiting = reader.read();
    await stop.reached;
    await reader.cancel();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it("takes a whole text as it takes one delta", async () => {
    const parts = (one: object) => partsOf({ parts: [{ type: "text", ...one } as never] });
    expect(await parts({ text: "Hello." })).toEqual(await parts({ deltas: ["Hello."] }));
  });

  it("waits before its first part, and no longer than its call", async () => {
    const model = scriptedModel([{ delay: 1, parts: [] }, { delay: 2 ** 30 }]);
    expect((await model.doGenerate(options)).finishReason.unified).toBe("stop");
    const stop = new AbortController();
    const late = model.doGenerate({ ...options, abortSignal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(late).rejects.toThrow("enough");
  });

  it.each([
    [{ error: new Error("no") }, "has `failure`"],
    [{ type: "text", text: "Hello." }, "is one of `parts`"],
    [{ text: "Hello." }, "write the text itself"],
    [{ parts: [{ type: "text", delta: "Hello." }] }, "one of `deltas`"],
    [{ parts: [{ type: "text", text: "Hello.", deltas: [] }] }, "not both"],
    [{ parts: [{ type: "tool-call", args: {} }] }, "is `input`"],
  ])("refuses %j with the right field", (step, words) => {
    expect(() => scriptedModel([step as never])).toThrow(words);
  });

  it("refuses options, which it would not look at", () => {
    const untyped: (...given: readonly unknown[]) => unknown = scriptedModel as never;
    expect(() => untyped(["Hello."], { delay: 20 })).toThrow("takes the script and no options");
  });

  it("takes a function for a script, with the call's options and its number", async () => {
    const script: Script = ({ prompt }, index) => `call ${index} of ${prompt.length} messages`;
    const model = scriptedModel(script);
    await model.doGenerate(options);
    const { content } = await model.doGenerate(options);
    expect(content).toEqual([{ type: "text", text: "call 1 of 1 messages" }]);
  });

  it("says which call found no step when the script runs out", async () => {
    const model = scriptedModel(["only"]);
    await model.doGenerate(options);
    const second = model.doGenerate(options);
    await expect(second).rejects.toThrow("called for step 2, but the script has 1");
    await expect(second).rejects.toSatisfy((error) => TurnlogError.isInstance(error));
    await expect(second).rejects.toHaveProperty("code", "INVALID_INPUT");
  });
});
