/** What providers refuse in messages, as a model is sent it. */

import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { SentMessages } from "../../src/context/sent/messages.ts";

const claude = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
const gemini = { provider: "google.generative-ai", modelId: "gemini-2.5-pro" };
const gpt = { provider: "openai.responses", modelId: "gpt-5" };

const user: ModelMessage = { role: "user", content: "Go." };

type Output = Extract<
  Extract<ModelMessage, { readonly role: "tool" }>["content"][number],
  { readonly type: "tool-result" }
>["output"];

function step(
  toolName: string,
  output: Output = { type: "text", value: "done" },
  input: unknown = {},
): readonly ModelMessage[] {
  const call = { toolCallId: "c1", toolName };
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output }] },
  ];
}

function sent(messages: readonly ModelMessage[], model: typeof claude | undefined = claude) {
  return new SentMessages(model).messagesToSend(messages);
}

function namesIn(messages: readonly ModelMessage[]): readonly string[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.flatMap((part) => ("toolName" in part ? [part.toolName] : [])),
  );
}

describe("names of tools that are sent", () => {
  const invented = [
    "browser.tabs.open",
    "look up",
    "x".repeat(305),
    "",
    "größe",
    "7 zip",
    "\ud83d",
  ];

  it.each(invented)("are in the letters of all providers, for call and result: %j", (name) => {
    const [call, result, ...none] = namesIn(sent([user, ...step(name)], undefined));
    expect(none).toEqual([]);
    expect(result).toBe(call);
    expect(call).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  });

  it("stay apart, and are no name of another tool", () => {
    const names = [...invented, "browser_tabs_open", "look_up", "look.up"];
    const all = names.map((name) => namesIn(sent(step(name)))[0]);
    expect(new Set(all).size).toBe(names.length);
  });

  it.each([
    ["its own", "look.up:all", gemini, true],
    ["no digit first", "3d_view", gemini, false],
    [
      "its own, behind a gateway",
      "look.up",
      { provider: "gateway", modelId: "google/gemini-3-pro" },
      false,
    ],
    ["a digit first", "3d_view", gpt, true],
    ["long", "x".repeat(100), claude, true],
    ["long", "x".repeat(100), gpt, false],
  ])("stay if the model takes them: %s, %s", (_what, name, model, stays) => {
    expect(namesIn(sent(step(name), model))[0] === name).toBe(stays);
  });

  it("of calls that the provider ran are those that it knows", () => {
    const call = { toolCallId: "c1", toolName: "mcp.look up" };
    const prompt: readonly ModelMessage[] = [
      user,
      {
        role: "assistant",
        content: [
          { type: "tool-call", ...call, input: {}, providerExecuted: true },
          { type: "tool-result", ...call, output: { type: "text", value: "done" } },
        ],
      },
      user,
    ];
    expect(namesIn(sent(prompt))).toEqual(["mcp.look up", "mcp.look up"]);
  });
});

describe("texts that are sent", () => {
  it("have no lone surrogate, in any place, keys and file names included", () => {
    const half = "\ud83d";
    const prompt: readonly ModelMessage[] = [
      { role: "user", content: `cut ${half}` },
      ...step("look", { type: "json", value: { [half]: [half] } }, { q: half, [half]: 1 }),
      ...step("look", { type: "error-text", value: half }),
      ...step("look", { type: "content", value: [{ type: "text", text: half }] }),
      {
        role: "user",
        content: [
          { type: "file", data: new Uint8Array([1]), mediaType: "image/png", filename: half },
          { type: "file", data: new URL("https://example.org"), mediaType: "image/png" },
        ],
      },
    ];
    const mended = sent(prompt);
    const all = (value: unknown): readonly string[] => {
      if (typeof value === "string") return [value];
      if (typeof value !== "object" || value === null) return [];
      return Object.entries(value).flatMap(([key, one]) => [key, ...all(one)]);
    };
    expect(all(mended).filter((text) => !text.isWellFormed())).toEqual([]);
    expect(mended[0]?.content).toBe("cut \ufffd");
    expect(mended.at(-1)).toMatchObject({
      content: [{ data: new Uint8Array([1]) }, { data: new URL("https://example.org") }],
    });
  });

  it.each<[Output, Output]>([
    [
      { type: "text", value: "" },
      { type: "text", value: "(no output)" },
    ],
    [
      { type: "error-text", value: "\n" },
      { type: "error-text", value: "(no output)" },
    ],
    [{ type: "execution-denied", reason: "" }, { type: "execution-denied" }],
    [
      { type: "content", value: [] },
      { type: "content", value: [{ type: "text", text: "(no output)" }] },
    ],
    [
      { type: "content", value: [{ type: "text", text: " " }] },
      { type: "content", value: [{ type: "text", text: "(no output)" }] },
    ],
    [
      {
        type: "content",
        value: [
          { type: "text", text: "" },
          { type: "text", text: "x" },
        ],
      },
      { type: "content", value: [{ type: "text", text: "x" }] },
    ],
  ])("have words where a result has none: %j", (output, words) => {
    const [, result] = sent(step("look", output));
    expect(result?.content).toEqual([
      { type: "tool-result", toolCallId: "c1", toolName: "look", output: words },
    ]);
  });

  it("of users and replies are not empty", () => {
    const blank = { type: "text" as const, text: " " };
    const text = { type: "text" as const, text: "So." };
    const signed = { ...blank, providerOptions: { google: { thoughtSignature: "s" } } };
    expect(
      sent([
        { role: "user", content: "\n" },
        { role: "assistant", content: [blank, text, signed] },
        { role: "user", content: [blank, text] },
        { role: "assistant", content: [blank] },
      ]),
    ).toEqual([
      { role: "user", content: "(no text)" },
      { role: "assistant", content: [text, signed] },
      { role: "user", content: [text] },
      { role: "assistant", content: "(no text)" },
    ]);
  });
});

it.each([
  [null, {}],
  ["text", { input: "text" }],
  [[1], { input: [1] }],
])("inputs that are sent are objects: %j", (input, object) => {
  const [call] = sent(step("look", undefined, input));
  expect(call?.content).toEqual([
    { type: "tool-call", toolCallId: "c1", toolName: "look", input: object },
  ]);
});

it("a prompt that every model takes is sent as it is, and a longer one begins as the shorter was sent", () => {
  const plain = [user, ...step("look"), user];
  expect(sent(plain)).toBe(plain);
  const whole = [
    user,
    ...step("a b"),
    user,
    ...step("look", { type: "text", value: "\ud83d" }),
    user,
  ];
  const messages = new SentMessages(claude);
  for (const length of whole.keys()) {
    const shorter = messages.messagesToSend(whole.slice(0, length));
    expect(sent(whole).slice(0, length)).toEqual(shorter);
  }
});

describe("what some models do not take", () => {
  const mistral = { provider: "mistral.chat", modelId: "mistral-large-latest" };
  const kimi = { provider: "moonshotai.chat", modelId: "kimi-k2.5" };
  const reasoner = { provider: "deepseek.chat", modelId: "deepseek-reasoner" };
  const interrupted = [user, ...step("look"), user];

  it("Mistral: the user's message right after a tool's has a reply before it", () => {
    const roles = sent(interrupted, mistral).map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(sent(interrupted, gpt)).toHaveLength(interrupted.length);
  });

  it("Mistral: a longer prompt begins as the shorter one was sent", () => {
    const messages = new SentMessages(mistral);
    const whole = sent(interrupted, mistral);
    expect(messages.messagesToSend(interrupted.slice(0, 3))).toEqual(whole.slice(0, 3));
    expect(messages.messagesToSend(interrupted)).toEqual(whole);
    const longer = [...interrupted, ...step("look")];
    expect(messages.messagesToSend(longer).slice(0, whole.length)).toEqual(whole);
  });

  it.each([kimi, reasoner])("a call without reasoning: $modelId", (model) => {
    const [, reply] = sent([user, ...step("look")], model);
    expect(reply?.content).toMatchObject([{ type: "reasoning", text: " " }, { type: "tool-call" }]);
  });

  it("a reply that reasons, or calls nothing, is sent as it is", () => {
    const call = { type: "tool-call", toolCallId: "c1", toolName: "look", input: {} } as const;
    const reasoning = { type: "reasoning", text: "Hm." } as const;
    const messages: readonly ModelMessage[] = [
      user,
      { role: "assistant", content: [reasoning, call] },
      ...step("look").slice(1),
      { role: "assistant", content: [{ type: "text", text: "Done." }] },
      user,
    ];
    expect(sent(messages, kimi)).toBe(messages);
  });

  it("a tool's name that every object has is not sent under that name", () => {
    const [called] = namesIn(sent([user, ...step("constructor")]));
    expect(called).toMatch(/^constructor_[0-9a-f]{8}$/);
  });
});
