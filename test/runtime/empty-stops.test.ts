/** A reply that ends as it should and says nothing: the model is asked again, and a silent end is marked. */

import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isStepCount, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentTool, uiStream, type Agent } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

const sources = ["language-model-call", "stream-text"] as const;

const silent: ScriptedStep = { parts: [] };
const thoughtful: ScriptedStep = { parts: [{ type: "reasoning", deltas: ["Hm."] }] };
const blank: ScriptedStep = { parts: [{ type: "text", deltas: ["\n\n"] }] };
const cut: ScriptedStep = { parts: [], finishReason: "interrupted" };

function part(sent: LanguageModelV4StreamPart): ScriptedStep {
  return { parts: [{ type: "raw-part", part: sent }] };
}

const echo = tool({ inputSchema: z.object({}), execute: () => "echo" });

async function ends(open: OpenSession): Promise<readonly string[]> {
  return (await open.types()).filter((type) => /^step\.(finished|retrying|failed)/.test(type));
}

describe.each(sources)("by way of %s", (stepSource) => {
  const opened = async (agent: Agent): Promise<OpenSession> =>
    await openSession(agent, { stepSource, timer: impatientTimer });

  it.each([
    ["nothing", silent],
    ["only reasoning", thoughtful],
    ["only white space", blank],
  ])("a model that said %s is asked once more, with the same prompt", async (_, nothing) => {
    const model = scriptedModel([nothing, "Here I am."]);
    await using open = await opened({ model });
    const result = await (await open.session.send("Hi.")).result;
    expect(result).toMatchObject({ finishReason: "stop", text: "Here I am." });
    expect(result).not.toHaveProperty("empty");
    expect(await ends(open)).toEqual(["step.retrying", "step.finished"]);
    const [first, second] = model.calls;
    expect(second?.prompt).toEqual(first?.prompt);
    const events = await open.events();
    expect(await replay(events, { model })).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
  });

  it("a model that says nothing twice has ended its turn, and everybody sees that it was silent", async () => {
    const model = scriptedModel([silent, thoughtful, "And now?"]);
    await using open = await opened({ model });
    const turn = await open.session.send("Hi.");
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "", empty: true });
    expect(await ends(open)).toEqual(["step.retrying", "step.finished"]);
    const { history } = await open.session.view();
    expect(history.at(-1)).toMatchObject({ kind: "turn-end", reason: "stop", empty: true });
    const page = await Array.fromAsync(uiStream(open.session, { turn: 1 }));
    expect(page.at(-1)).toMatchObject({
      type: "finish",
      messageMetadata: { reason: "stop", empty: true },
    });
    const events = await open.events();
    expect(await replay(events, { model })).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    // The next prompt has no empty reply.
    await (
      await open.session.send("And?")
    ).result;
    expect(model.calls[2]?.prompt.map(({ role }) => role)).toEqual(["user", "user"]);
  });

  it("a model that says nothing about results of tools is asked once more", async () => {
    const model = scriptedModel([calling(call("echo", "1")), silent, silent]);
    await using open = await opened({ model, tools: { echo } });
    const result = await (await open.session.send("Hi.")).result;
    expect(result).toMatchObject({ finishReason: "stop", text: "", empty: true });
    expect(model.calls).toHaveLength(3);
    expect(model.calls[2]?.prompt).toEqual(model.calls[1]?.prompt);
  });

  it("is asked once more after other failures too, and fails of them as ever", async () => {
    const model = scriptedModel([cut, silent, "Here I am."]);
    await using open = await opened({ model });
    expect(await (await open.session.send("Hi.")).result).toMatchObject({ text: "Here I am." });
    const failing = scriptedModel([silent, cut, cut]);
    await using other = await opened({ model: failing });
    await expect((await other.session.send("Hi.")).result).rejects.toThrow("finish reason");
  });

  it("an agent without retries does not ask again, and marks the end", async () => {
    const model = scriptedModel([silent]);
    await using open = await opened({ model, maxRetries: 0 });
    expect(await (await open.session.send("Hi.")).result).toMatchObject({ empty: true });
  });

  it("a reply of a call alone is no silence", async () => {
    const model = scriptedModel([calling(call("echo", "1")), "Done."]);
    await using open = await opened({ model, tools: { echo } });
    await (
      await open.session.send("Hi.")
    ).result;
    expect(model.calls).toHaveLength(2);
  });

  it("the call of a sub-agent that says nothing fails with a sentence, also where a stop condition ends it", async () => {
    const helpers = [
      { model: scriptedModel([silent, silent]) },
      {
        model: scriptedModel([calling(call("echo", "2"))]),
        tools: { echo },
        stopWhen: isStepCount(1),
      },
    ];
    for (const agent of helpers) {
      const helper = agentTool({ description: "Helps.", agent });
      const model = scriptedModel([calling(call("helper", "1", { task: "Help." })), "I see."]);
      await using open = await opened({ model, tools: { helper } });
      expect((await (await open.session.send("Hi.")).result).text).toBe("I see.");
      const { toolCalls } = await open.session.view();
      expect(toolCalls).toMatchObject([{ status: "failed" }]);
      expect(JSON.stringify(model.calls[1]?.prompt)).toContain(
        "The sub-agent helper ended its turn and said nothing",
      );
    }
  });
});

it.each<readonly [string, ScriptedStep, boolean]>([
  ["nothing", silent, true],
  ["only reasoning", thoughtful, true],
  ["only white space", blank, true],
  [
    "only a source",
    part({ type: "source", sourceType: "url", id: "s", url: "https://a.invalid" }),
    true,
  ],
  ["a word", "Yes.", false],
  [
    "a file",
    part({ type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } }),
    false,
  ],
  ["a part of a provider", part({ type: "custom", kind: "p.note" }), false],
  ["a report that it began", part({ type: "custom", kind: "anthropic.message_start" }), true],
])("the caller, the view and the page agree about a reply of %s", async (_, reply, empty) => {
  await using open = await openSession({ model: scriptedModel([reply]), maxRetries: 0 });
  const result = await (await open.session.send("Hi.")).result;
  const { history } = await open.session.view();
  const page = await Array.fromAsync(uiStream(open.session, { turn: 1 }));
  const finish = page.find((chunk) => chunk.type === "finish");
  const marks = [result, history.at(-1), finish?.messageMetadata].map(
    (one) => one !== undefined && "empty" in one,
  );
  expect(marks).toEqual([empty, empty, empty]);
});
