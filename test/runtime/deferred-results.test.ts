/** Tools that a provider runs and whose results come in a later reply: the turn continues for them. */

import { isStepCount, streamText, tool, type ModelMessage, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, viewSession } from "../../src/public/index.ts";
import {
  gate,
  scriptedModel,
  type ScriptedPart,
  type ScriptedStep,
} from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const inputSchema = z.object({});
const search: ToolSet[string] = {
  type: "provider",
  isProviderExecuted: true,
  supportsDeferredResults: true,
  id: "test.search",
  args: {},
  inputSchema,
  outputSchema: z.unknown(),
};
const tools: ToolSet = { search, own: tool({ inputSchema, execute: () => "ours" }) };

const searching = (toolCallId: string): ScriptedPart => ({
  type: "raw-part",
  part: {
    type: "tool-call",
    toolCallId,
    toolName: "search",
    input: "{}",
    providerExecuted: true,
  },
});
const found = (toolCallId: string): ScriptedPart => ({
  type: "raw-part",
  part: { type: "tool-result", toolCallId, toolName: "search", result: { hits: 1 } },
});
const text = (word: string): ScriptedPart => ({ type: "text", deltas: [word] });

/** A reply in which the provider pauses. */
function pausing(...parts: readonly ScriptedPart[]): ScriptedStep {
  return { parts, finishReason: "stop" };
}

const paused = pausing(text("Let me look."), searching("s1"));
const answered: ScriptedStep = { parts: [found("s1"), text("Found.")] };

describe.each(["language-model-call", "stream-text"] as const)("by %s, a turn", (stepSource) => {
  const scripts: Readonly<Record<string, readonly ScriptedStep[]>> = {
    "of one pause": [paused, answered],
    "of several pauses": [paused, pausing(found("s1"), searching("s2")), { parts: [found("s2")] }],
    "with calls of ours between": [
      calling(searching("s1"), call("own", "c1")),
      calling(call("own", "c2")),
      answered,
    ],
    "whose calls are answered at once": [pausing(searching("s1"), found("s1"), text("Found."))],
    "with one answered call and one that waits": [
      pausing(searching("s1"), found("s1"), searching("s2")),
      { parts: [found("s2"), text("Both.")] },
    ],
  };

  it.each(Object.entries(scripts))("%s takes the steps of streamText", async (_, script) => {
    const theirs = scriptedModel(script);
    const result = streamText({
      model: theirs,
      tools,
      prompt: "Search.",
      stopWhen: isStepCount(50),
    });
    await result.consumeStream();
    const ours = scriptedModel(script);
    await using open = await openSession({ model: ours, tools }, { stepSource });
    const turn = await open.session.send("Search.");
    const { finishReason, text: said } = await turn.result;
    expect(finishReason).toBe("stop");
    expect(said).toBe(await result.text);
    expect(ours.calls.map(({ prompt }) => prompt)).toEqual(
      theirs.calls.map(({ prompt }) => prompt),
    );
    expect(promptProblems((await open.session.view()).prompt.messages.slice(0, -1))).toEqual([]);
  });
});

it("a later prompt has the call with its result, and so has the history", async () => {
  const model = scriptedModel([paused, answered, "Fine."]);
  await using open = await openSession({ model, tools });
  const { session } = open;
  await (
    await session.send("Search.")
  ).result;
  await (
    await session.send("And?")
  ).result;
  const view = await session.view();
  const { history, summary } = view;
  const { messages: prompt } = view.prompt;
  expect(promptProblems(prompt).map(({ rule }) => rule)).toEqual(["ends-with-input"]);
  const sent = prompt.flatMap(({ role, content }: ModelMessage) =>
    role === "assistant" && typeof content !== "string" ? content.map(({ type }) => type) : [],
  );
  expect(sent).toEqual(["text", "tool-call", "tool-result", "text", "text"]);
  expect(JSON.stringify(history)).toContain('"provider-result"');
  expect(summary.steps).toBe(3);
});

it("continues no longer than its steps allow, and not for replies without a word", async () => {
  const again = scriptedModel(({ prompt }) => pausing(searching(`s${prompt.length}`)));
  await using limited = await openSession({ model: again, tools, maxSteps: 3 });
  expect(await (await limited.session.send("Search.")).result).toMatchObject({
    finishReason: "max-steps",
  });
  let calls = 0;
  const silent = scriptedModel(() => {
    calls += 1;
    return calls === 1 ? paused : pausing();
  });
  await using stuck = await openSession({ model: silent, tools });
  expect(await (await stuck.session.send("Search.")).result).toMatchObject({
    finishReason: "stop",
  });
  expect(calls).toBe(4);
});

it("ends when the provider says something else: the call is left out of the prompt then", async () => {
  const model = scriptedModel([paused, "Never mind.", "Fine."]);
  await using open = await openSession({ model, tools });
  await (
    await open.session.send("Search.")
  ).result;
  expect(model.calls).toHaveLength(2);
  await (
    await open.session.send("And?")
  ).result;
  expect(JSON.stringify(model.calls[2]?.prompt)).not.toContain("s1");
});

it("a steered message takes the place of the result, and the prompt is valid", async () => {
  const stop = gate();
  const model = scriptedModel([pausing(searching("s1"), stop), "In German."]);
  await using open = await openSession({ model, tools });
  const turn = await open.session.send("Search.");
  await stop.reached;
  await open.session.send("In German.", { delivery: "steer" });
  stop.open();
  expect(await turn.result).toMatchObject({ finishReason: "stop", text: "In German." });
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain("s1");
});

it("a cancel in the reply that was to bring the result leaves a session that works", async () => {
  const stop = gate();
  const model = scriptedModel([paused, { parts: [text("Well"), stop] }, "Fine."]);
  await using open = await openSession({ model, tools });
  await open.session.send("Search.");
  await stop.reached;
  expect(await open.session.cancel()).toMatchObject({ ended: "cancelled" });
  expect(await (await open.session.send("And?")).result).toMatchObject({ text: "Fine." });
});

it("comes again in a replay", async () => {
  const agent = { model: scriptedModel([paused, answered]), tools };
  await using open = await openSession(agent);
  await (
    await open.session.send("Search.")
  ).result;
  const events = await open.events();
  expect(await replay(events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
  const unaware = {
    ...agent,
    tools: { ...tools, search: { ...search, supportsDeferredResults: false } },
  };
  expect(await replay(events, unaware)).toMatchObject({
    difference: { recorded: { type: "step.finished", data: { deferred: ["s1"] } } },
  });
});

it("has a valid prompt at every position, and continues from each after a crash", async () => {
  await using open = await openSession({ model: scriptedModel([paused, answered]), tools });
  await (
    await open.session.send("Search.")
  ).result;
  const events = await open.events();
  for (const { position } of events) {
    const { messages: prompt } = (await viewSession(open.log, "s", position)).prompt;
    const rules = promptProblems(prompt).map(({ rule }) => rule);
    expect(rules.filter((rule) => rule !== "ends-with-input")).toEqual([]);
  }
  for (const recovery of ["stop", "continue"] as const) {
    for (let length = 1; length < events.length; length++) {
      const log = await openMemoryLog();
      await log.append(
        "s",
        "none",
        events.slice(0, length).map(({ position: _, ...event }) => event),
        {
          origin: "copied",
        },
      );
      const model = scriptedModel(({ prompt }) =>
        JSON.stringify(prompt.at(-1)).includes("s1") ? answered : "Fine.",
      );
      await using runtime = await createRuntime({ log, recovery, agent: { model, tools } });
      const session = await runtime.session("s");
      await session.idle();
      const turn = await session.send("And?");
      expect(await turn.result).toMatchObject({ finishReason: "stop" });
      for (const { prompt } of model.calls) expect(prompt.at(-1)?.role).toMatch(/user|assistant/);
    }
  }
});
