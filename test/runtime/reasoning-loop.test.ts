/** Claude with a thinking budget, in a turn whose calls were made without thinking. */

import type { ModelMessage } from "ai";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/agent/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, openMemoryLog, verifySession } from "../../src/public/index.ts";
import { thinkingSettings } from "../../src/runtime/model/call-request.ts";
import { patience } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { anthropic, provider } from "./posting-provider.ts";

vi.setConfig({ testTimeout: patience });

const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
const asking = { tools: { look }, toolApproval: { look: "user-approval" } } as const;
const enabled = { type: "enabled", budgetTokens: 1024 };
const posted = z.object({ thinking: z.looseObject({ type: z.string() }).optional() });

describe.each(["language-model-call", "stream-text"] as const)("Claude (%s)", (stepSource) => {
  it("ends a turn that another model began without thinking, says so, and thinks in the next one", async () => {
    await using log = await openMemoryLog();
    await using server = await provider(anthropic);
    const model = scriptedModel([calling(call("look", "c1", {}))]);
    const runtime = await createRuntime({ log, agent: { model, ...asking } });
    await (await (await runtime.session("s")).send("Look.")).untilRest();
    await runtime.close();
    await using open = await openSession(
      {
        model: anthropic.model(server.url),
        ...asking,
        providerOptions: { anthropic: { thinking: enabled } },
      },
      { log, stepSource },
    );
    const { session } = open;
    const [asked] = (await session.view()).approvals;
    await session.approve(asked?.approvalId ?? "");
    await session.atRest();
    await (
      await session.send("And now?")
    ).result;
    const types = server.posted.map(({ body }) => posted.parse(body).thinking?.type);
    expect(types).toEqual(["disabled", "enabled"]);
    const warnings: number[] = [];
    for await (const { type, data } of session.events()) {
      if (type === "part.start-step") warnings.push(data.warnings.length);
      if (warnings.length === 3) break;
    }
    expect(warnings).toEqual([0, 1, 0]);
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });
});

/** Thinking as Claude sends it, before a call of `look`. */
const thinkingFirst: readonly object[] = [
  ...anthropic.calling.slice(0, 1),
  {
    type: "content_block_start",
    index: 9,
    content_block: { type: "thinking", thinking: "", signature: "" },
  },
  { type: "content_block_delta", index: 9, delta: { type: "thinking_delta", thinking: "So." } },
  { type: "content_block_delta", index: 9, delta: { type: "signature_delta", signature: "s" } },
  { type: "content_block_stop", index: 9 },
  ...anthropic.calling.slice(1),
];

it("a turn that Claude began with thinking continues with it", async () => {
  await using server = await provider(anthropic, thinkingFirst);
  await using open = await openSession({
    model: anthropic.model(server.url),
    tools: { look },
    providerOptions: { anthropic: { thinking: enabled } },
  });
  await (
    await open.session.send("Look.")
  ).result;
  const types = server.posted.map(({ body }) => posted.parse(body).thinking?.type);
  expect(types).toEqual(["enabled", "enabled"]);
});

const user: ModelMessage = { role: "user", content: "Go." };
const calls: ModelMessage = {
  role: "assistant",
  content: [{ type: "tool-call", toolCallId: "c1", toolName: "look", input: {} }],
};
const results: ModelMessage = {
  role: "tool",
  content: [
    {
      type: "tool-result",
      toolCallId: "c1",
      toolName: "look",
      output: { type: "text", value: "seen" },
    },
  ],
};
const thought: ModelMessage = {
  role: "assistant",
  content: [
    {
      type: "reasoning",
      text: "So.",
      providerOptions: { anthropic: { signature: "s" } },
    },
    { type: "tool-call", toolCallId: "c1", toolName: "look", input: {} },
  ],
};
const said: ModelMessage = { role: "assistant", content: [{ type: "text", text: "Done." }] };

function settings(messages: readonly ModelMessage[], agent: Partial<Agent>) {
  const model = anthropic.model("http://127.0.0.1:1");
  const { signal } = new AbortController();
  return thinkingSettings({ agent: { model, ...agent }, messages, signal });
}

describe("thinking", () => {
  const providerOptions = { anthropic: { thinking: enabled, effort: "high" } };
  const off = {
    providerOptions: { anthropic: { thinking: { type: "disabled" }, effort: "high" } },
  };

  it.each([
    ["another model's call", [user, calls, results]],
    ["several of them", [user, calls, results, calls, results]],
    ["one in an earlier turn that broke off, before new words", [user, calls, results, user]],
  ])("is off after %s", (_what, messages) => {
    expect(settings(messages, { providerOptions })).toEqual(off);
  });

  it.each([
    ["a new turn", [user, calls, results, said, user]],
    ["a loop that began with thinking", [user, thought, results]],
    [
      "a loop that began with thinking and continues without",
      [user, thought, results, calls, results],
    ],
  ])("stays in %s", (_what, messages) => {
    expect(settings(messages, { providerOptions })).toEqual({});
  });

  it("stays where it is adaptive or off, and where the model is another one", () => {
    const messages = [user, calls, results];
    for (const type of ["adaptive", "disabled"])
      expect(
        settings(messages, { providerOptions: { anthropic: { thinking: { type } } } }),
      ).toEqual({});
    expect(settings(messages, { model: scriptedModel([]), providerOptions })).toEqual({});
  });

  it("is off in each interface's words", () => {
    const messages = [user, calls, results];
    const bedrock = { amazonBedrock: { reasoningConfig: enabled } };
    expect(settings(messages, { providerOptions: bedrock })).toEqual({
      providerOptions: { amazonBedrock: { reasoningConfig: { type: "disabled" } } },
    });
    expect(settings(messages, { reasoning: "high" })).toEqual({ reasoning: "none" });
    const model = "anthropic/claude-opus-4.7";
    expect(settings(messages, { model, reasoning: "high" })).toEqual({});
  });
});
