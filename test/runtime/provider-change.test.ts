/** A model of another provider in the middle of a session: what it is shown of what the one before has said. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { openMemoryLog, verifySession } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { nothing } from "./tools.ts";

const mark = { anthropic: { signature: "signed" } };
const tools = { look: tool({ inputSchema: nothing, execute: () => "seen" }) };

/** Everything that a provider may bind to itself, and text and a call beside it. */
const bound = [
  calling(
    { type: "reasoning", deltas: ["Let me think."], providerMetadata: mark },
    {
      type: "raw-part",
      part: {
        type: "tool-call",
        toolCallId: "p1",
        toolName: "web_search",
        input: "{}",
        providerExecuted: true,
        dynamic: true,
        providerMetadata: mark,
      },
    },
    {
      type: "raw-part",
      part: {
        type: "tool-result",
        toolCallId: "p1",
        toolName: "web_search",
        result: "found",
        dynamic: true,
        providerMetadata: mark,
      },
    },
    { type: "raw-part", part: { type: "custom", kind: "anthropic.note", providerMetadata: mark } },
    {
      type: "raw-part",
      part: {
        type: "file",
        mediaType: "image/png",
        data: { type: "data", data: "AAAA" },
        providerMetadata: mark,
      },
    },
    { type: "text", deltas: ["I look."], providerMetadata: mark },
    { ...call("look", "1"), providerMetadata: mark },
  ),
  "Done.",
];

function modelOf(provider: string, modelId: string, script: Parameters<typeof scriptedModel>[0]) {
  const model = scriptedModel(script);
  return { ...model, provider, modelId, calls: model.calls } satisfies ScriptedModel;
}

async function asked(open: OpenSession): Promise<void> {
  await (
    await open.session.send("Go.")
  ).result;
}

/** The first turn, by a model that binds what it says, and then one turn of each of these models. */
async function turnsOf(...models: readonly ScriptedModel[]): Promise<readonly string[]> {
  const log = await openMemoryLog();
  const first = modelOf("anthropic.messages", "claude", bound);
  for (const model of [first, ...models]) {
    const open = await openSession({ model, tools, promptCache: "off" }, { log });
    await asked(open);
    // Every prompt is rebuilt from the log alone.
    expect(await verifySession(log, "s")).toMatchObject({ problems: [] });
    await open[Symbol.asyncDispose]();
  }
  const types = (await Array.fromAsync(log.read("s"))).map(({ type }) => type);
  await log.close();
  return types;
}

/** What a model was shown of the first reply. */
function shown({ calls }: ScriptedModel): unknown {
  return calls[0]?.prompt.filter(({ role }) => role !== "system").slice(1, 3);
}

describe("a model of another provider", () => {
  it("is shown text, calls and results, and nothing that only the one before understands", async () => {
    const other = modelOf("openai.responses", "gpt", ["Fine."]);
    const types = await turnsOf(other);
    expect(shown(other)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool-call", toolCallId: "1", toolName: "look", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "1",
            toolName: "look",
            output: { type: "text", value: "seen" },
          },
        ],
      },
    ]);
    // The log has it all.
    expect(types).toEqual(
      expect.arrayContaining([
        "part.reasoning-end",
        "part.custom",
        "part.file",
        "part.tool-result",
      ]),
    );
  });

  it("leaves all of it to the one before, which finds it again when it comes back", async () => {
    const same = modelOf("anthropic.messages", "claude-2", ["Fine."]);
    await turnsOf(same);
    const other = modelOf("openai.responses", "gpt", ["Fine."]);
    const back = modelOf("anthropic.messages", "claude", ["Fine."]);
    await turnsOf(other, back);
    expect(JSON.stringify(shown(same))).toContain("signed");
    expect(JSON.stringify(shown(same))).toContain("found");
    expect(shown(back)).toEqual(shown(same));
  });

  it.each([
    ["openai.chat", "gpt", false],
    ["gateway", "anthropic/claude", false],
    ["anthropic.messages", "claude-opus", true],
  ] as const)("%s %s is the same one: %s", async (provider, modelId, isSame) => {
    const model = modelOf(provider, modelId, ["Fine."]);
    await turnsOf(model);
    expect(JSON.stringify(shown(model)).includes("signed")).toBe(isSame);
  });
});

describe("a provider of models of many makers", () => {
  it.each([
    ["gateway", "openai/gpt-5", "openai/o9", true],
    ["gateway", "openai/gpt-5", "anthropic/claude", false],
    ["amazon-bedrock", "us.anthropic.claude-5-v1:0", "anthropic.claude-4-v1:0", true],
    ["amazon-bedrock", "anthropic.claude-5-v1:0", "amazon.nova-pro-v1:0", false],
    ["openai.chat", "gpt-4.1", "gpt-5.1", true],
  ] as const)("%s: what %s has bound, %s is shown: %s", async (provider, one, other, isSame) => {
    const log = await openMemoryLog();
    const second = modelOf(provider, other, ["Fine."]);
    for (const model of [modelOf(provider, one, bound), second]) {
      const open = await openSession({ model, tools }, { log });
      await asked(open);
      await open[Symbol.asyncDispose]();
    }
    await log.close();
    expect(JSON.stringify(shown(second)).includes("signed")).toBe(isSame);
  });
});
