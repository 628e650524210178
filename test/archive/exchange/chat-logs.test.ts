/** Messages of OpenAI and Anthropic as sessions: what was said, called and answered is right, and nothing is made up. */

import { describe, expect, it } from "vitest";
import {
  createRuntime,
  importMessages,
  openMemoryLog,
  verifySession,
  viewSession,
} from "../../../src/public/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";

async function imported(value: unknown, from?: "openai" | "anthropic") {
  const log = await openMemoryLog();
  const found = await importMessages(log, value, { as: "s", ...(from && { from }) });
  const views = [];
  for (const { session } of found) {
    expect((await verifySession(log, session, { every: 1 })).problems).toEqual([]);
    views.push(await viewSession(log, session));
  }
  return { log, found, views, prompts: views.map(({ prompt }) => prompt.messages) };
}

const image = "iVBORw0KGgo=";
const call = (id: string, city: string) => ({
  id,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ city }) },
});
const openai = [
  { role: "developer", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "The weather here?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } },
      { type: "image_url", image_url: { url: "https://a.example/b.png" } },
      { type: "hologram", data: 1 },
    ],
  },
  { role: "assistant", content: null, tool_calls: [call("1", "Ulm"), call("2", "Bonn")] },
  { role: "tool", tool_call_id: "2", content: "9 degrees" },
  { role: "tool", tool_call_id: "1", content: "7 degrees" },
  { role: "assistant", content: "7 and 9 degrees.", refusal: null, annotations: [] },
];
const anthropic = [
  {
    role: "user",
    content: [
      { type: "text", text: "The weather here?" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: image } },
      { type: "image", source: { type: "url", url: "https://a.example/b.png" } },
      { type: "hologram", data: 1 },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Both.", signature: "sig" },
      { type: "tool_use", id: "1", name: "weather", input: { city: "Ulm" } },
      { type: "tool_use", id: "2", name: "weather", input: { city: "Bonn" } },
    ],
  },
  {
    role: "user",
    content: [
      { type: "text", text: "Quick!" },
      { type: "tool_result", tool_use_id: "2", is_error: true, content: "no such city" },
      { type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "7 degrees" }] },
    ],
  },
  { role: "assistant", content: "7 degrees." },
];
const asked = {
  role: "user",
  content: [
    { type: "text", text: "The weather here?" },
    { type: "file", mediaType: "image/png", data: image },
    { type: "file", mediaType: "image/*", data: "https://a.example/b.png" },
  ],
};
const calls = [
  { type: "tool-call", toolCallId: "1", toolName: "weather", input: { city: "Ulm" } },
  { type: "tool-call", toolCallId: "2", toolName: "weather", input: { city: "Bonn" } },
];

describe("OpenAI's messages", () => {
  it("become user messages, steps, and calls with their inputs and outputs", async () => {
    const { found, prompts, views } = await imported(openai);
    expect(found).toMatchObject([
      { session: "s", instructions: "Be brief.", dropped: [{ message: 1, what: "hologram" }] },
    ]);
    expect(prompts).toMatchObject([
      [
        asked,
        { role: "assistant", content: calls },
        {
          role: "tool",
          content: [
            { toolCallId: "1", toolName: "weather", output: { type: "text", value: "7 degrees" } },
            { toolCallId: "2", toolName: "weather", output: { type: "text", value: "9 degrees" } },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "7 and 9 degrees." }] },
      ],
    ]);
    expect(views[0]?.usage.total.basis).toBe("estimated");
  });

  it("of old, without call ids, find the result of their call", async () => {
    const { log, prompts } = await imported([
      { role: "user", content: "Go." },
      { role: "assistant", content: null, function_call: { name: "look", arguments: "" } },
      { role: "function", name: "look", content: "seen" },
      { role: "assistant", content: null, function_call: { name: "look", arguments: "{oops" } },
    ]);
    expect(prompts[0]).toMatchObject([
      { role: "user" },
      {
        content: [
          {
            type: "tool-call",
            toolName: "look",
            input: {},
          },
        ],
      },
      { content: [{ output: { value: "seen" } }] },
      { content: [{ type: "tool-call", toolName: "look", input: "{oops" }] },
      { role: "tool" },
    ]);
    const events = await Array.fromAsync(log.read("s"));
    const inputs = events.flatMap(({ type, data }) => (type === "part.tool-call" ? [data] : []));
    expect(inputs).toEqual([
      { toolCallId: "call-1", toolName: "look", input: {} },
      { toolCallId: "call-2", toolName: "look", input: "{oops" },
    ]);
  });

  it("of the Responses API are the same, and items that no session holds are named", async () => {
    const { found, prompts } = await imported({
      model: "gpt",
      instructions: "Be brief.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Hi" }] },
        { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "Hm." }] },
        { type: "web_search_call", id: "ws", status: "completed" },
        { type: "function_call", call_id: "c", name: "look", arguments: '{"a":1}' },
        { type: "function_call_output", call_id: "c", output: "seen" },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Ok" }] },
      ],
    });
    expect(found).toMatchObject([
      { instructions: "Be brief.", dropped: [{ message: 2, what: "web_search_call" }] },
    ]);
    expect(prompts[0]).toMatchObject([
      { role: "user" },
      {
        content: [
          { type: "reasoning", text: "Hm." },
          { toolCallId: "c", input: { a: 1 } },
        ],
      },
      { content: [{ toolCallId: "c", output: { value: "seen" } }] },
      { content: [{ type: "text", text: "Ok" }] },
    ]);
  });
});

describe("Anthropic's messages", () => {
  it("become user messages, steps, and calls with their inputs and outputs", async () => {
    const { found, prompts, views } = await imported({ system: "Be brief.", messages: anthropic });
    expect(found).toMatchObject([
      { session: "s", instructions: "Be brief.", dropped: [{ message: 0, what: "hologram" }] },
    ]);
    expect(prompts).toMatchObject([
      [
        asked,
        {
          role: "assistant",
          content: [
            {
              type: "reasoning",
              text: "Both.",
              providerOptions: { anthropic: { signature: "sig" } },
            },
            ...calls,
          ],
        },
        {
          role: "tool",
          content: [
            { toolCallId: "1", output: { type: "text", value: "7 degrees" } },
            { toolCallId: "2", output: { type: "error-text", value: "no such city" } },
          ],
        },
        { role: "user", content: [{ type: "text", text: "Quick!" }] },
        { role: "assistant", content: [{ type: "text", text: "7 degrees." }] },
      ],
    ]);
    expect(views[0]?.toolCalls.map(({ status }) => status)).toEqual(["succeeded", "failed"]);
  });

  it("keep what the provider's own tools did, which no other provider is sent", async () => {
    const { log, prompts } = await imported([
      { role: "user", content: "Search." },
      {
        role: "assistant",
        content: [
          { type: "server_tool_use", id: "w", name: "web_search", input: { query: "q" } },
          {
            type: "web_search_tool_result",
            tool_use_id: "w",
            content: [{ type: "web_search_result", url: "https://a.example", page_age: null }],
          },
          { type: "text", text: "Found." },
        ],
      },
    ]);
    expect(prompts[0]?.[1]).toMatchObject({
      content: [
        { type: "tool-call", toolName: "web_search", providerExecuted: true },
        { type: "tool-result", toolName: "web_search", output: { value: [{ pageAge: null }] } },
        { type: "text", text: "Found." },
      ],
    });
    const model = scriptedModel(["Gladly."]);
    await using runtime = await createRuntime({ log, agent: { model } });
    await (
      await (await runtime.session("s")).send("Thanks.")
    ).result;
    expect(model.calls[0]?.prompt[1]?.content).toMatchObject([{ type: "text", text: "Found." }]);
  });
});

describe("a log of calls", () => {
  const message = { role: "assistant", content: "Hello." };
  const first = {
    request: { model: "gpt", messages: [{ role: "user", content: "Hi" }] },
    response: {
      id: "r1",
      model: "gpt-6",
      created: 100,
      choices: [{ message, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 9,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    },
  };
  const second = {
    request: {
      messages: [...first.request.messages, message, { role: "user", content: "More" }],
    },
    response: { created: 200, choices: [{ message: { role: "assistant", content: "Bye." } }] },
  };
  const other = { messages: [{ role: "user", content: "Else" }, message] };

  it("is one session for each conversation, with the figures of its responses and no others", async () => {
    const { found, prompts, views, log } = await imported([first, other, second]);
    expect(found.map(({ session }) => session)).toEqual(["s-1", "s-2"]);
    expect(prompts[0]?.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    const events = await Array.fromAsync(log.read("s-1"));
    expect(events.filter(({ type }) => type === "step.finished")).toMatchObject([
      {
        time: 100_000,
        data: { usage: { basis: "measured", inputTokens: 9, cacheReadTokens: 4 } },
      },
      { time: 200_000, data: { usage: { basis: "estimated" } } },
    ]);
    expect(events.filter(({ type }) => type === "step.started")).toMatchObject([
      { data: { model: { provider: "openai.chat", modelId: "gpt-6" } } },
      { data: { model: { provider: "openai.chat", modelId: "unknown" } } },
    ]);
    expect(views[1]?.usage.total.basis).toBe("estimated");
  });

  it("has another session for a second answer to what was continued already", async () => {
    const again = {
      request: second.request,
      response: { choices: [{ message: { role: "assistant", content: "No more." } }] },
    };
    const { found, prompts } = await imported([first, second, again]);
    expect(found.map(({ session }) => session)).toEqual(["s-1", "s-2"]);
    expect(prompts.map((prompt) => prompt.at(-1)?.content)).toMatchObject([
      [{ text: "Bye." }],
      [{ text: "No more." }],
    ]);
  });

  it("of Anthropic has the figures too", async () => {
    const { log } = await imported({
      request: { model: "claude", system: "S", messages: [{ role: "user", content: "Hi" }] },
      response: {
        type: "message",
        role: "assistant",
        model: "claude-9",
        content: [{ type: "text", text: "Hello." }],
        usage: { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 7 },
      },
    });
    const events = await Array.fromAsync(log.read("s"));
    expect(events.find(({ type }) => type === "step.finished")).toMatchObject({
      data: { usage: { basis: "measured", inputTokens: 12, uncachedInputTokens: 5 } },
    });
  });

  it("finds the beginning of a conversation that OpenAI kept", async () => {
    const output = [{ type: "message", role: "assistant", content: "Hello." }];
    const { found, prompts } = await imported([
      { request: { input: "Hi" }, response: { id: "r", output } },
      { request: { input: "More", previous_response_id: "r" }, response: { id: "t", output } },
    ]);
    expect(found.map(({ session }) => session)).toEqual(["s"]);
    expect(prompts[0]?.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it("continues like any other session, after a call without a result too", async () => {
    const { log, views } = await imported(openai.slice(0, 3));
    expect(views[0]?.toolCalls.map(({ status }) => status)).toEqual(["unknown", "unknown"]);
    const model = scriptedModel(["Gladly."]);
    await using runtime = await createRuntime({ log, agent: { model } });
    const turn = await (await runtime.session("s")).send("Well?");
    expect(await turn.result).toMatchObject({ text: "Gladly." });
  });
});

describe("what cannot be imported is said in a sentence, and nothing is written", () => {
  const user = { role: "user", content: "Hi" };
  it.each<[unknown, RegExp]>([
    [5, /This is neither a list of messages nor a request/],
    [{ model: "gpt" }, /has no list of `messages`/],
    [
      [user, { role: "robot", content: "", tool_calls: [] }],
      /OpenAI's messages: message 2 of 2: role: it must be one of "system"/,
    ],
    [
      [user, { role: "tool", tool_call_id: "x", content: "" }],
      /Message 2 of 2: the result x has no call/,
    ],
    [
      [...openai, { role: "tool", tool_call_id: "1", content: "" }],
      /Message 7 of 7: the result 1 is not the first/,
    ],
    [
      [user, { role: "assistant", tool_calls: [{ id: "1", function: { name: "f" } }] }],
      /message 2 of 2: tool_calls\[0\]\.function\.arguments/,
    ],
    [
      [user, { role: "assistant", content: [{ type: "tool_use", id: "1", input: {} }] }],
      /Anthropic's messages: message 2 of 2: content\[0\]\.name/,
    ],
    [[{ messages: [user] }, { messages: 1 }], /Conversation 2 of 2 has no list/],
    [
      { request: { messages: [user] }, response: { text: "?" } },
      /has a response without `choices`/,
    ],
    [{ request: { input: "x", previous_response_id: "r0" } }, /continues the response r0/],
  ])("%j", async (value, said) => {
    await using log = await openMemoryLog();
    await expect(importMessages(log, value, { as: "s" })).rejects.toThrow(said);
    expect(await Array.fromAsync(log.list())).toEqual([]);
  });

  it.each([
    ["OpenAI's messages", "openai", openai],
    ["Anthropic's messages", "anthropic", anthropic],
  ])("%s given as the AI SDK's are named", async (name, from, messages) => {
    await using log = await openMemoryLog();
    const refused = importMessages(log, messages, { from: "model-messages", as: "s" });
    await expect(refused).rejects.toThrow(
      `They look like ${name}: import them with \`--from ${from}\``,
    );
  });
});
