/** Another model takes over: when, with which record, and how often the models are called. By both step sources. */

import { Output, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  dropOldest,
  manual,
  type Agent,
  type SessionEvent,
} from "../../src/public/index.ts";
import type { scriptedModel } from "../../src/models/index.ts";
import { modelOf, refusal } from "../support/failing-models.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

type Script = Parameters<typeof scriptedModel>[0];

const dead =
  (status = 503): Script =>
  () => ({ failure: refusal(status) });

async function answerOf(open: OpenSession, message = "Go.") {
  return await (
    await open.session.send(message)
  ).result;
}

async function moves(
  open: OpenSession,
): Promise<readonly SessionEvent<"step.failed-over">["data"][]> {
  return (await open.events()).flatMap((event) =>
    event.type === "step.failed-over" ? [event.data] : [],
  );
}

const named = (provider: string, modelId = "m") => ({ provider, modelId });

describe.each(["language-model-call", "stream-text"] as const)("by way of %s", (stepSource) => {
  it("the next model takes the step after one quick retry, and the log says why", async () => {
    const [first, second] = [modelOf("one", dead()), modelOf("two", ["Here."])];
    await using open = await openSession({ model: first, fallback: [second] }, { stepSource });
    expect(await answerOf(open)).toMatchObject({ text: "Here.", model: named("two") });
    expect(first.calls).toHaveLength(2);
    expect(await moves(open)).toEqual([
      { step: 1, attempt: 2, from: named("one"), to: named("two"), why: "overloaded" },
    ]);
    const types = await open.types();
    expect(types[types.indexOf("step.failed-over") + 1]).toBe("step.retrying");
    expect(second.calls[0]?.prompt).toEqual(first.calls[0]?.prompt);
  });

  it("a reply that its provider withheld is the next model's only where `when` names it", async () => {
    const withheld = { parts: [], finishReason: "content-filter" } as const;
    for (const [when, text] of [
      [["content-filter"], "Here."],
      [["overloaded"], ""],
    ] as const) {
      const [first, second] = [modelOf("one", [withheld]), modelOf("two", ["Here."])];
      const fallback = [{ model: second, when }];
      await using open = await openSession({ model: first, fallback }, { stepSource });
      expect(await answerOf(open)).toMatchObject({ text });
    }
  });

  it("what was said stays with `continueOn`, and the next model continues from it", async () => {
    const broken = calling(
      { type: "text", deltas: ["One, "] },
      { type: "break", error: refusal(500) },
    );
    const first = modelOf("one", () => broken);
    const second = modelOf("two", ["two."]);
    await using open = await openSession(
      { model: first, fallback: [second], continueOn: "partial", maxRetries: 0 },
      { stepSource },
    );
    expect(await answerOf(open)).toMatchObject({ text: "One, two." });
    const [, reply, note] = second.calls[0]?.prompt ?? [];
    expect(reply).toMatchObject({ role: "assistant", content: [{ text: "One, " }] });
    expect(note).toMatchObject({ role: "user" });
  });
});

it("a wait that a provider asks for is not waited while another model is left", async () => {
  const waits: number[] = [];
  const slow: Script = () => ({ failure: refusal(429, { "retry-after": "30" }) });
  const [first, second] = [modelOf("one", slow), modelOf("two", ["Here."])];
  await using open = await openSession(
    { model: first, fallback: [second] },
    {
      timer: (ms, due, wait) => {
        if (wait.kind === "retry") waits.push(ms);
        queueMicrotask(due);
        return { [Symbol.dispose]: () => {} };
      },
    },
  );
  await answerOf(open);
  expect(waits).toEqual([]);
  expect(first.calls).toHaveLength(1);
});

it.each([
  [401, "authentication"],
  [404, "not-a-model"],
  [402, "quota"],
  [500, "server"],
])("a refusal with %i is the next model's at once or after a retry: %s", async (status, why) => {
  const [first, second] = [modelOf("one", dead(status)), modelOf("two", ["Here."])];
  await using open = await openSession({
    model: first,
    fallback: [second],
    context: { onRefusal: "fail" },
  });
  await answerOf(open);
  expect(await moves(open)).toMatchObject([{ why }]);
});

it("a request that is to blame itself goes to no other model", async () => {
  const [first, second] = [modelOf("one", dead(400)), modelOf("two", ["Here."])];
  await using open = await openSession({
    model: first,
    fallback: [second],
    context: { onRefusal: "fail" },
  });
  await expect(answerOf(open)).rejects.toMatchObject({ code: "TURN_FAILED" });
  expect(second.calls).toHaveLength(0);
});

it("after words or a call, the turn fails as without a fallback", async () => {
  const error = refusal(500);
  for (const part of [
    { type: "text", deltas: ["So "] },
    call("echo", "1", { value: 1 }),
  ] as const) {
    const first = modelOf("one", () => calling(part, { type: "break", error }));
    const second = modelOf("two", ["Here."]);
    await using open = await openSession({ model: first, fallback: [second], tools: { echo } });
    await expect(answerOf(open)).rejects.toMatchObject({ code: "TURN_FAILED" });
    expect(second.calls).toHaveLength(0);
    expect(first.calls).toHaveLength(3);
  }
});

it("no model continues after a call of the provider whose outcome is unknown", async () => {
  const error = refusal(500);
  const hosted = {
    type: "raw-part",
    part: {
      type: "tool-call",
      toolCallId: "p1",
      toolName: "pay",
      input: "{}",
      providerExecuted: true,
      dynamic: true,
    },
  } as const;
  const first = modelOf("one", () => calling(hosted, { type: "break", error }));
  const second = modelOf("two", ["Here."]);
  await using open = await openSession({ model: first, fallback: [second], continueOn: "partial" });
  await expect(answerOf(open)).rejects.toMatchObject({ code: "TURN_FAILED" });
  expect(second.calls).toHaveLength(0);
});

it("the rest of the turn is the second model's, the next turn the first one's again", async () => {
  const look = calling(call("echo", "1", { value: 1 }));
  const first = modelOf("one", [{ failure: refusal(401) }, "And again me."]);
  const second = modelOf("two", [look, "Done."]);
  await using open = await openSession({ model: first, fallback: [second], tools: { echo } });
  expect(await answerOf(open)).toMatchObject({ text: "Done.", model: named("two") });
  expect(await answerOf(open)).toMatchObject({ text: "And again me.", model: named("one") });
  expect(await moves(open)).toHaveLength(1);
});

it("each model is tried once in a turn; the last one has the usual retries, and its error is the turn's", async () => {
  const models = ["one", "two", "three"].map((name) => modelOf(name, dead()));
  const [model = modelOf("one", []), ...fallback] = models;
  await using open = await openSession({ model, fallback });
  await expect(answerOf(open)).rejects.toMatchObject({ code: "TURN_FAILED" });
  expect(models.map(({ calls }) => calls.length)).toEqual([2, 2, 3]);
});

it("a step's own model is replaced as well, and only where it failed", async () => {
  const [own, chosen] = [modelOf("one", ["Mine."]), modelOf("chosen", dead(401))];
  const second = modelOf("two", [calling(call("echo", "1", { value: 1 }))]);
  await using open = await openSession({
    model: own,
    fallback: [second],
    tools: { echo },
    prepareStep: ({ stepNumber }) => (stepNumber === 0 ? { model: chosen } : {}),
  });
  expect(await answerOf(open)).toMatchObject({ text: "Mine.", model: named("one") });
});

it("a name that two models have is refused, since the log could not tell them apart", async () => {
  const twice = { model: modelOf("one", []), fallback: [modelOf("one", [])] };
  await expect(openSession(twice)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  const wrong = {
    model: modelOf("one", []),
    fallback: [{ model: modelOf("two", []), when: ["tired"] }],
  };
  await expect(openSession(wrong as unknown as Agent)).rejects.toMatchObject({
    code: "INVALID_INPUT",
    details: { option: "agent.fallback.0.when.0" },
  });
});

it("a dearer model that a limit of spending forbids is not taken", async () => {
  const limits = {
    "two:m": { prices: { input: 1e6, output: 1e6 } },
    "one:m": { prices: { input: 0, output: 0 } },
  };
  const [first, second] = [modelOf("one", dead(401)), modelOf("two", ["Here."])];
  await using open = await openSession(
    { model: first, fallback: [second], context: { limits } },
    { limits: { turn: { dollars: 0.01 } } },
  );
  await expect(answerOf(open)).rejects.toMatchObject({ code: "TURN_FAILED" });
  expect(second.calls).toHaveLength(0);
});

it("a sub-agent's model is replaced by its own agent's fallback only", async () => {
  const task = calling(call("clerk", "1", { task: "Look." }));
  const clerk = (fallback: Agent["fallback"] = []) =>
    agentTool({
      description: "Looks.",
      agent: { model: modelOf("clerk", dead(401)), fallback: [...fallback] },
    });
  for (const [fallback, said] of [
    [[modelOf("spare", ["Found it."])], "Found it."],
    [[], "Refused with 401"],
  ] as const) {
    const parent = modelOf("one", [task, "Done."]);
    const other = modelOf("two", ["Never."]);
    await using open = await openSession({
      model: parent,
      fallback: [other],
      tools: { clerk: clerk(fallback) },
    });
    expect(await answerOf(open)).toMatchObject({ text: "Done.", model: named("one") });
    expect(JSON.stringify(parent.calls[1]?.prompt)).toContain(said);
    expect(other.calls).toHaveLength(0);
  }
});

it("partial outputs go on where the first model stopped", async () => {
  const broken = calling(saying('{"a":').parts[0] ?? { type: "text", deltas: [] }, {
    type: "break",
    error: refusal(500),
  });
  await using open = await openSession({
    model: modelOf("one", () => broken),
    fallback: [modelOf("two", ["1}"])],
    continueOn: "partial",
    maxRetries: 0,
    output: Output.object({ schema: z.object({ a: z.number() }) }),
  });
  const turn = await open.session.send("Go.");
  expect((await turn.result).output).toEqual({ a: 1 });
  expect(await Array.fromAsync(turn.partialOutputs)).toContainEqual({ a: 1 });
});

it("a prompt that is too long for the next model is compacted once that one refuses it", async () => {
  const tooLong = Object.assign(refusal(400), {
    message: "prompt is too long: 9000 tokens > 1000 maximum",
  });
  const first = modelOf("one", ["A long story. ".repeat(200), { failure: refusal(401) }]);
  const second = modelOf("two", [{ failure: tooLong }, "Short."]);
  await using open = await openSession({
    model: first,
    fallback: [second],
    context: { compact: { when: manual(), how: dropOldest({ keepTurns: 0 }) } },
  });
  await answerOf(open, "Tell me a story.");
  expect(await answerOf(open)).toMatchObject({ text: "Short.", model: named("two") });
  expect(await open.types()).toContain("context.compacted");
  expect(JSON.stringify(second.calls[1]?.prompt)).not.toContain("A long story");
});

it("cuts results for the window of the next model before it is called", async () => {
  const limits = { "one:m": { contextWindow: 200_000 }, "two:m": { contextWindow: 4000 } };
  const long = tool({ inputSchema: z.object({}), execute: () => "result ".repeat(3000) });
  const first = modelOf("one", [calling(call("long", "1")), { failure: refusal(401) }]);
  const second = modelOf("two", ["Done."]);
  await using open = await openSession({
    model: first,
    fallback: [second],
    tools: { long },
    context: { limits },
  });
  await answerOf(open);
  const types = await open.types();
  expect(types.slice(types.indexOf("step.failed-over"))).toContain("context.cut");
  expect(JSON.stringify(second.calls[0]?.prompt).length).toBeLessThan(16_000);
});

it("what agents observe of a call names the model that is called, and metrics count the move", async () => {
  const called: string[] = [];
  const counted = new Map<string, unknown>();
  const seen: unknown[] = [];
  const instrument = (name: string) => ({
    add: (_: number, of?: unknown) => counted.set(name, of),
    record: () => {},
    addCallback: (look: (result: { observe(value: number, of?: unknown): void }) => void) => {
      if (name === "turnlog.circuits.failing")
        watch = () => look({ observe: (...one) => seen.push(one) });
    },
  });
  let watch = (): void => {};
  await using open = await openSession(
    {
      model: modelOf("one", [{ failure: refusal(401) }]),
      fallback: [modelOf("two", ["Here."])],
      onLanguageModelCallStart: ({ provider }) => void called.push(provider),
    },
    {
      meter: {
        createCounter: instrument,
        createHistogram: instrument,
        createObservableGauge: instrument,
      },
    },
  );
  await answerOf(open);
  expect(called).toEqual(["one", "two"]);
  expect(counted.get("turnlog.failovers")).toEqual({
    from: "one:m",
    to: "two:m",
    why: "authentication",
  });
  watch();
  expect(seen).toEqual([[1, { model: "one:m", state: "closed" }]]);
});
