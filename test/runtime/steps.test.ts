/** Model calls: how often, tried again when, and how a turn ends. By both step sources. */

import type { LanguageModelV4 } from "@ai-sdk/provider";
import { APICallError } from "ai";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

function refusal(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: `Refused with ${statusCode}`,
    statusCode,
    responseHeaders,
    isRetryable: statusCode !== 400,
    url: "https://provider.invalid",
    requestBodyValues: { prompt: "the whole prompt once more" },
  });
}

const overloaded: ScriptedStep = { failure: refusal(503, { "retry-after-ms": "1" }) };
const look = calling(call("echo", "1", { value: 1 }));

describe.each(["language-model-call", "stream-text"] as const)("by way of %s", (stepSource) => {
  it("a turn takes as many steps as it may, and then ends with what there is", async () => {
    const model = scriptedModel(() => look);
    await using open = await openSession({ model, tools: { echo }, maxSteps: 3 }, { stepSource });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "max-steps", text: "" });
    expect(model.calls).toHaveLength(3);
    expect((await open.session.view()).toolCalls.map(({ status }) => status)).toEqual([
      "succeeded",
      "succeeded",
      "succeeded",
    ]);
  });

  it("a call that is refused is tried again with the same prompt, and the turn continues", async () => {
    const model = scriptedModel([overloaded, overloaded, "Here I am."]);
    await using open = await openSession({ model }, { stepSource });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Here I am." });
    expect(model.calls).toHaveLength(3);
    expect(model.calls[2]?.prompt).toEqual(model.calls[0]?.prompt);
    const events = await open.events();
    const attempts = events.filter((event) => event.type === "step.started");
    expect(attempts.map(({ data }) => [data.step, data.attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    const retries = events.filter((event) => event.type === "step.retrying");
    expect(retries.map(({ data }) => data.delayMs)).toEqual([1, 1]);
    expect(JSON.stringify(events)).not.toContain("the whole prompt once more");
  });

  it("a call that is refused too often fails the turn, with the provider's error as the cause", async () => {
    const model = scriptedModel(() => overloaded);
    await using open = await openSession({ model, maxRetries: 1 }, { stepSource });
    const turn = await open.session.send("Go.");
    await expect(turn.result).rejects.toMatchObject({
      code: "TURN_FAILED",
      session: "s",
      cause: { name: "AI_APICallError", statusCode: 503 },
    });
    expect(model.calls).toHaveLength(2);
  });

  it.each([
    ["a refusal that would be repeated", { failure: refusal(400) }],
    ["an error that is not the provider's", { failure: new TypeError("no such model") }],
    [
      "an error in the stream",
      calling({ type: "text", deltas: ["So "] }, { type: "error", error: refusal(400) }),
    ],
    [
      "a stream that breaks",
      calling({ type: "text", deltas: ["So "] }, { type: "break", error: refusal(400) }),
    ],
  ])("%s is not tried again: the turn fails, and what was said is kept", async (_, step) => {
    const model = scriptedModel([step, "After all."]);
    await using open = await openSession({ model }, { stepSource });
    const turn = await open.session.send("Go.");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    expect(model.calls).toHaveLength(1);
    const said = "parts" in step ? ["So "] : [];
    const { history } = await open.session.view();
    expect(
      history.flatMap((item) =>
        item.kind === "step"
          ? item.parts.flatMap((part) => (part.kind === "text" ? [part.text] : []))
          : [],
      ),
    ).toEqual(said);
    expect(await (await open.session.send("Again.")).result).toMatchObject({ text: "After all." });
  });

  it.each(["error", "break"] as const)(
    "after an error that may pass (%s), the text so far is kept, its calls are skipped, and a new attempt follows",
    async (type) => {
      const model = scriptedModel([
        calling({ type: "text", deltas: ["So "] }, call("echo", "1", { value: 1 }), {
          type,
          error: refusal(503),
        }),
        calling({ type: "text", deltas: ["be it."] }, call("echo", "1", { value: 2 })),
        "Done.",
      ]);
      await using open = await openSession(
        { model, tools: { echo } },
        { stepSource, random: () => 0 },
      );
      const turn = await open.session.send("Go.");
      expect(await turn.result).toMatchObject({ text: "Done.", finishReason: "stop" });
      const said = JSON.stringify(model.calls[1]?.prompt);
      expect(said).toContain("So ");
      expect(said).toContain("Not run");
      const { toolCalls, usage } = await open.session.view();
      expect(toolCalls.map(({ callId, status }) => [callId, status])).toEqual([
        ["1", "skipped"],
        ["1", "succeeded"],
      ]);
      const retrying = (await open.events()).find((event) => event.type === "step.retrying");
      expect(retrying?.data).toMatchObject({ kind: "overloaded", attempt: 1 });
      expect(usage.steps.map(({ step }) => step)).toEqual([1, 2]);
      expect(usage.beside).toMatchObject([{ kind: "retry", turn: 1 }]);
      expect(usage.beside[0]?.usage.outputTokens).toBeGreaterThan(0);
    },
  );

  it.each([1, 2])(
    "a stream that ends without a finish is a connection that broke: what came is kept, and it is tried again (%i times broken)",
    async (broken) => {
      const scripted = scriptedModel(["Done."]);
      let calls = 0;
      const model: LanguageModelV4 = {
        ...scripted,
        doStream: async (options) => {
          calls += 1;
          if (calls > broken) return await scripted.doStream(options);
          return {
            stream: new ReadableStream({
              start: (controller) => {
                controller.enqueue({ type: "stream-start", warnings: [] });
                controller.enqueue({ type: "text-start", id: "t" });
                controller.enqueue({ type: "text-delta", id: "t", delta: "So" });
                controller.close();
              },
            }),
          };
        },
      };
      await using open = await openSession(
        { model, maxRetries: 1 },
        { stepSource, random: () => 0 },
      );
      await open.session.send("Go.");
      await open.session.idle();
      const { lastEnd } = (await open.session.view()).summary;
      expect(lastEnd).toBe(broken === 1 ? "stop" : "failed");
      const kinds = (await open.events()).flatMap(({ type, data }) =>
        type === "step.retrying" || type === "step.failed" ? [data.kind] : [],
      );
      expect(kinds).toEqual(Array.from({ length: broken }, () => "network"));
      expect(JSON.stringify((await open.session.view()).history)).toContain('"text":"So"');
    },
  );

  it.each(["length", "content-filter"] as const)(
    "a reply that is cut off by %s ends the turn, and its calls are not run",
    async (finishReason) => {
      const step = { ...calling(call("echo", "1", { value: 1 })), finishReason };
      const model = scriptedModel([step, "Again, then."]);
      await using open = await openSession({ model, tools: { echo } }, { stepSource });
      expect((await (await open.session.send("Go.")).result).finishReason).toBe(finishReason);
      expect((await open.session.view()).toolCalls.map(({ status }) => status)).toEqual([
        "skipped",
      ]);
      await (
        await open.session.send("Again.")
      ).result;
      expect(JSON.stringify(model.calls[1]?.prompt)).toContain("It had no effect");
    },
  );

  it("every part is in the log as soon as the model has said it", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", "two ", hold, "three.")]);
    await using open = await openSession({ model }, { stepSource });
    const turn = await open.session.send("Go.");
    const texts: string[] = [];
    let stored = 0;
    for await (const event of turn) {
      if (event.type !== "part.text-delta") continue;
      texts.push(event.data.text);
      if (texts.length !== 2) continue;
      // Shown, and therefore stored, while the model still waits for leave to go on.
      stored = (await open.events()).filter(({ type }) => type === "part.text-delta").length;
      hold.open();
    }
    expect(stored).toBe(2);
    expect(texts).toEqual(["One ", "two ", "three."]);
  });

  it("the figures of a turn are the sum of its steps", async () => {
    const usage = (input: number, output: number) => ({
      inputTokens: { total: input, noCache: input - 1, cacheRead: 1, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    });
    const model = scriptedModel([
      { ...calling(call("echo", "1", { value: 1 })), usage: usage(10, 2) },
      { ...saying("Done."), usage: usage(30, 4) },
      { ...saying("More."), usage: usage(50, 8) },
    ]);
    await using open = await openSession({ model, tools: { echo } }, { stepSource });
    const first = await (await open.session.send("Go.")).result;
    expect(first.usage).toMatchObject({
      basis: "measured",
      inputTokens: 40,
      outputTokens: 6,
      uncachedInputTokens: 38,
      cacheReadTokens: 2,
    });
    await (
      await open.session.send("More.")
    ).result;
    const { usage: whole, summary } = await open.session.view();
    expect(whole.total).toMatchObject({ inputTokens: 90, outputTokens: 14 });
    expect(summary.total).toEqual(whole.total);
  });
});

/** What is recorded of a message by one of the step sources. */
async function recordedBy(
  stepSource: "language-model-call" | "stream-text",
  agent: Agent,
): Promise<unknown> {
  let now = 0;
  const options = { stepSource, clock: () => ++now, newId: () => "m1" };
  await using open = await openSession(agent, options);
  const turn = await open.session.send("Go.");
  await turn.result.catch(() => undefined);
  const text = JSON.stringify(await open.events(), (key, value: unknown) =>
    // `streamText` makes up a time where the provider told none.
    key === "stack" || key === "timestamp" ? undefined : value,
  );
  return JSON.parse(text) as unknown;
}

it("both step sources record the same events", async () => {
  const play = async (stepSource: "language-model-call" | "stream-text"): Promise<unknown> => {
    const model = scriptedModel([
      calling(
        { type: "reasoning", deltas: ["Hm"] },
        { type: "text", deltas: ["I ", "look."] },
        call("echo", "1", { value: 1 }),
        call("echo", "2", "{ not"),
      ),
      saying("Done."),
    ]);
    return await recordedBy(stepSource, { model, tools: { echo } });
  };
  expect(await play("stream-text")).toEqual(await play("language-model-call"));
});

it.each([
  ["anything was said", calling()],
  ["a word was said", saying()],
  ["the end", saying("Well")],
])(
  "both step sources record the same of a stream that breaks off before %s",
  async (_, { parts }) => {
    const lost = { type: "break", error: new Error("lost") } as const;
    const play = async (stepSource: "language-model-call" | "stream-text"): Promise<unknown> =>
      await recordedBy(stepSource, { model: scriptedModel([calling(...parts, lost)]) });
    expect(await play("stream-text")).toEqual(await play("language-model-call"));
  },
);
