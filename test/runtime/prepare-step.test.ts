/** What `prepareStep` may change of a step, and what the log says about it. */

import assert from "node:assert/strict";
import type { ModelMessage, PrepareStepFunction, ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { openMemoryLog, verifySession, type Agent } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { call, calling } from "../support/script.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";
import { containing, echo } from "./tools.ts";

type PrepareStep = PrepareStepFunction<ToolSet>;

const tools = { echo, other: echo };

/** A model that calls a tool in its first steps, and then says that it is done. */
function working(steps: number, ...more: readonly string[]) {
  let calls = 0;
  const words = [...more];
  return scriptedModel(() =>
    calls === steps
      ? (words.shift() ?? "Done.")
      : calling(call("echo", `c${(calls += 1)}`, { value: calls })),
  );
}

function userTexts(prompt: readonly { readonly role: string; readonly content: unknown }[]) {
  return prompt.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content));
}

/** Says something after every prompt, as long as the prompt has it not. */
function reminding({ messages, stepNumber }: Parameters<PrepareStep>[0]): {
  messages: ModelMessage[];
} {
  return { messages: [...messages, { role: "user", content: `Reminder ${stepNumber}.` }] };
}

describe("a step that prepareStep changes", () => {
  it("has the messages that it returned, and so have the later steps of the turn", async () => {
    const model = working(2, "Done.", "Again.");
    await using open = await openSession({ model, tools, prepareStep: reminding });
    await (
      await open.session.send("Go.")
    ).result;
    expect(model.calls.map(({ prompt }) => userTexts(prompt).length)).toEqual([2, 3, 4]);
    expect(userTexts(model.calls[2]?.prompt ?? [])[3]).toContain("Reminder 2.");
    await (
      await open.session.send("More.")
    ).result;
    // The next turn begins with what was said, without the reminders.
    expect(userTexts(model.calls[3]?.prompt ?? [])).toHaveLength(3);
    expect(await verifySession(open.log, "s")).toMatchObject({ problems: [] });
  });

  it("has no system message where its instructions are empty: providers refuse an empty one", async () => {
    const model = working(0);
    const prepareStep: PrepareStep = () => ({ instructions: "" });
    await using open = await openSession({ model, tools, instructions: "Be long.", prepareStep });
    await (
      await open.session.send("Go.")
    ).result;
    expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual(["user"]);
  });

  it("has another model, other instructions, tools and settings, for as long as the SDK says", async () => {
    const model = working(1);
    const scripted = scriptedModel([calling(call("other", "s", { value: 1 }))]);
    const strong = { ...scripted, modelId: "strong" };
    const prepareStep: PrepareStep = ({ stepNumber }) =>
      stepNumber === 0
        ? {
            model: strong,
            instructions: "Be brief.",
            activeTools: ["other"],
            toolChoice: "required",
            temperature: 0,
            providerOptions: { turnlog: { effort: "high" } },
          }
        : undefined;
    await using open = await openSession({ model, tools, instructions: "Be long.", prepareStep });
    await (
      await open.session.send("Go.")
    ).result;
    const [first] = scripted.calls;
    const [second] = model.calls;
    expect(first?.tools?.map(({ name }) => name)).toEqual(["other", "read_tool_output"]);
    expect(first).toMatchObject({
      toolChoice: { type: "required" },
      temperature: 0,
      providerOptions: { turnlog: { effort: "high" } },
    });
    expect(first?.prompt[0]).toMatchObject({ role: "system", content: "Be brief." });
    // Instructions carry forward, all else does not.
    expect(second?.prompt[0]).toMatchObject({ role: "system", content: "Be brief." });
    expect(second?.tools).toHaveLength(3);
    expect(second?.temperature).toBeUndefined();
    const started = (await open.events()).filter((event) => event.type === "step.started");
    expect(started.map(({ data }) => data.model.modelId)).toEqual([
      "strong",
      "scripted",
      "scripted",
    ]);
  });

  it("gets what the SDK gives: the steps before it, initial messages, responses, the turn's context", async () => {
    const seen: unknown[] = [];
    const prepareStep: PrepareStep = (options) => {
      const { steps, stepNumber, messages, initialMessages, responseMessages } = options;
      seen.push({
        steps: steps.length,
        stepNumber,
        roles: messages.map(({ role }) => role),
        initial: initialMessages.length,
        responses: responseMessages.length,
        context: options.runtimeContext,
        instructions: options.instructions,
      });
      return { runtimeContext: { seen: stepNumber } };
    };
    await using open = await openSession({
      model: working(1),
      tools,
      instructions: "Go.",
      prepareStep,
    });
    await (
      await open.session.send("Go.", { context: { runtimeContext: { user: "ada" } } })
    ).result;
    const same = { initial: 1, instructions: "Go." };
    expect(seen).toEqual([
      { ...same, steps: 0, stepNumber: 0, roles: ["user"], responses: 0, context: { user: "ada" } },
      {
        ...same,
        steps: 1,
        stepNumber: 1,
        roles: ["user", "assistant", "tool"],
        responses: 2,
        context: { seen: 0 },
      },
    ]);
  });

  it.each<[string, PrepareStep, string]>([
    [
      "throws",
      () => {
        throw new Error("No idea.");
      },
      "`prepareStep` threw: No idea.",
    ],
    [
      "leaves the results of a call out",
      ({ messages }) => ({ messages: messages.filter(({ role }) => role !== "tool") }),
      "calls-answered",
    ],
    ["returns what is no setting", () => Object.assign({}, { temprature: 0 }), "temprature"],
    [
      "changes a message in place",
      ({ messages }) => {
        for (const message of messages) message.content = "Other.";
        return {};
      },
      "`prepareStep` threw",
    ],
  ])("fails by name if prepareStep %s, and the next message works", async (_, broken, words) => {
    let isBroken = true;
    const prepareStep: PrepareStep = (options) =>
      isBroken && options.stepNumber === 1 ? broken(options) : undefined;
    await using open = await openSession({ model: working(2), tools, prepareStep });
    const failing = (await open.session.send("Go.")).result;
    await expect(failing).rejects.toMatchObject({ cause: { message: containing(words) } });
    isBroken = false;
    expect(await (await open.session.send("Go on.")).result).toMatchObject({ text: "Done." });
  });

  it("is replayed without asking prepareStep", async () => {
    const model = working(3);
    const prepareStep: PrepareStep = (options) => ({
      ...reminding(options),
      instructions: "Be brief.",
      temperature: 0,
    });
    await using open = await openSession({ model, tools, prepareStep });
    await (
      await open.session.send("Go.")
    ).result;
    const asked: PrepareStep = () => {
      throw new Error("Asked in a replay.");
    };
    const found = await replay(await open.events(), { model, tools, prepareStep: asked });
    expect(found).not.toHaveProperty("difference");
  });

  it.each<[string, Omit<Agent, "model">]>([
    [
      "prepareStep",
      { prepareStep: ({ stepNumber }) => (stepNumber === 1 ? assert.fail("No.") : {}) },
    ],
    ["prepareCall", { prepareCall: () => assert.fail("No.") }],
    ["stopWhen", { stopWhen: () => assert.fail("No.") }],
  ])("fails again in a replay where %s failed it, without being asked", async (_, setting) => {
    const agent = { model: working(1, "Done."), tools, ...setting };
    await using open = await openSession(agent);
    await expect((await open.session.send("Go.")).result).rejects.toMatchObject({
      code: "TURN_FAILED",
    });
    const events = await open.events();
    expect(events.at(-2)).toMatchObject({ data: { error: { code: "CALLBACK_FAILED" } } });
    for (const replayed of [agent, { model: agent.model, tools }])
      expect(await replay(events, replayed)).toEqual({
        events: events.length,
        parts: expect.anything() as unknown,
      });
  });

  it("continues after a restart with what was changed before it", async () => {
    const hold = gate();
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const first = scriptedModel([calling(call("echo", "1", { value: 1 })), calling(hold)]);
    const prepareStep: PrepareStep = ({ messages, stepNumber }) => {
      if (stepNumber > 0) return undefined;
      const added: ModelMessage = { role: "user", content: "In short." };
      return { messages: [...messages, added], instructions: "Be brief." };
    };
    const agent = { tools, prepareStep };
    const open = await openSession({ ...agent, model: first }, { log: mortal });
    await open.session.send("Go.");
    await hold.reached;
    mortal.sever();
    const model = scriptedModel(["Done."]);
    await using again = await openSession({ ...agent, model }, { log, recovery: "continue" });
    await again.session.idle();
    const [sent] = model.calls;
    expect(JSON.stringify(sent?.prompt)).toContain("In short.");
    expect(sent?.prompt[0]).toMatchObject({ role: "system", content: "Be brief." });
    expect(await verifySession(log, "s")).toMatchObject({ problems: [] });
  });

  it("keeps the log linear, however many steps change the messages", async () => {
    const steps = 50;
    const prepareStep: PrepareStep = ({ messages, initialMessages, stepNumber }) => ({
      messages: [
        ...initialMessages,
        ...messages.filter(({ role }) => role !== "user").slice(-20),
        { role: "user", content: `Step ${stepNumber}.` },
      ],
    });
    const model = working(steps);
    await using open = await openSession({
      model,
      tools,
      prepareStep,
      maxSteps: Number.POSITIVE_INFINITY,
      loopGuard: false,
    });
    await (
      await open.session.send("Go.")
    ).result;
    const sizes = (await open.events())
      .filter(({ type }) => type === "step.prepared")
      .map(({ data }) => JSON.stringify(data).length);
    expect(sizes).toHaveLength(steps + 1);
    expect(Math.max(...sizes)).toBeLessThan(600);
  });
});

describe("a tool that prepareStep names and the agent does not have", () => {
  it.each<[string, ReturnType<PrepareStep>, RegExp, object]>([
    [
      "activeTools",
      { activeTools: ["echo", "othr"] },
      /`activeTools` names the tool othr.*`other`/,
      { option: "activeTools", nearest: "other" },
    ],
    [
      "toolOrder",
      { toolOrder: ["pay_invoice"] },
      /`toolOrder`.*pay_invoice.*The agent has echo/,
      { option: "toolOrder" },
    ],
    [
      "toolChoice",
      { toolChoice: { type: "tool", toolName: "server__tool" } },
      /`toolChoice`.*server__tool.*does not exist/,
      { option: "toolChoice" },
    ],
  ])("is refused in `%s`, before the model is called", async (_, answer, said, details) => {
    const model = working(0);
    await using open = await openSession({ model, tools, prepareStep: () => answer });
    const turn = await open.session.send("Go.");
    await expect(turn.result).rejects.toMatchObject({
      code: "TURN_FAILED",
      message: expect.stringMatching(said) as unknown,
    });
    const failed = (await open.events()).find(({ type }) => type === "step.failed");
    expect(failed).toHaveProperty("data.error.cause.details", details);
    expect(model.calls).toHaveLength(0);
  });

  it("may be the built-in one", async () => {
    const model = working(0);
    const prepareStep: PrepareStep = () => ({ activeTools: ["read_tool_output"] });
    await using open = await openSession({ model, tools, prepareStep });
    await (
      await open.session.send("Go.")
    ).result;
    expect(model.calls[0]?.tools?.map(({ name }) => name)).toEqual(["read_tool_output"]);
  });
});
