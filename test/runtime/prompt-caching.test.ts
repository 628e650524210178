/** What requests ask of a provider's prompt cache, as the real clients post it. */

import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAmazonBedrockAnthropic } from "@ai-sdk/amazon-bedrock/anthropic";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createAzure } from "@ai-sdk/azure";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createGateway, tool, type LanguageModel, type ModelMessage } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { StepRequest, StepSource } from "../../src/agent/index.ts";
import {
  createRuntime,
  openMemoryLog,
  promptWithMedia,
  type Agent,
} from "../../src/public/index.ts";
import { languageModelCall } from "../../src/runtime/model/language-model-call.ts";
import { streamTextCall } from "../../src/runtime/model/stream-text.ts";
import { patience } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";
import { anthropic, openai, provider } from "./posting-provider.ts";

vi.setConfig({ testTimeout: patience });

type Fetch = typeof globalThis.fetch;
type Caching = NonNullable<StepRequest["caching"]>;

const caching: Caching = { ttl: "5m", key: "k", pays: true };

/** What a client posts for a call; it gets no answer. */
async function posted(
  source: StepSource,
  modelWith: (fetch: Fetch) => LanguageModel,
  request: Partial<Omit<StepRequest, "agent">> & { readonly agent?: Partial<Agent> } = {},
): Promise<string> {
  let body = "";
  const model = modelWith((_, init) => {
    if (typeof init?.body === "string") ({ body } = init);
    return Promise.reject(new Error("The line is cut."));
  });
  const outputs = source.call({
    messages: conversation,
    signal: new AbortController().signal,
    caching,
    ...request,
    agent: { instructions: "Be brief.", tools: { look }, ...request.agent, model },
  });
  for await (const output of outputs) void output;
  return body;
}

const look = tool({ inputSchema: z.object({ n: z.number() }), execute: () => "seen" });
const conversation: readonly ModelMessage[] = [
  { role: "user", content: "Look." },
  asks("a"),
  answer("a", "seen"),
  asks("b"),
  answer("b", "seen again"),
];

function asks(toolCallId: string): ModelMessage {
  return {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId, toolName: "look", input: { n: 1 } }],
  };
}

function answer(toolCallId: string, value: string): ModelMessage {
  return {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId, toolName: "look", output: { type: "text", value } },
    ],
  };
}

const claude = (fetch: Fetch): LanguageModel =>
  createAnthropic({ apiKey: "k", fetch })("claude-sonnet-4-5");
const converse =
  (id: string) =>
  (fetch: Fetch): LanguageModel =>
    createAmazonBedrock({ apiKey: "k", region: "us-east-1", fetch })(id);

/** The places of a field in a posted body: the names on the way to it. */
function placesOf(body: string, field: string): readonly string[] {
  const places: string[] = [];
  const walk = (value: unknown, path: readonly string[]): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name === field) places.push([...path, JSON.stringify(inner)].join(" "));
      else walk(inner, [...path, name]);
    }
  };
  walk(JSON.parse(body), []);
  return places;
}

const ephemeral = '{"type":"ephemeral"}';

describe.each([languageModelCall, streamTextCall])("a request by $name", (source) => {
  it("marks Claude's tools, instructions, newest message and the newest one before the last reply", async () => {
    expect(placesOf(await posted(source, claude), "cache_control")).toEqual([
      `system 0 ${ephemeral}`,
      `messages 2 content 0 ${ephemeral}`,
      `messages 4 content 0 ${ephemeral}`,
      `tools 0 ${ephemeral}`,
    ]);
  });

  it.each([
    [
      "Bedrock",
      converse("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
      "cachePoint",
      [
        'system 1 {"type":"default"}',
        'messages 2 content 1 {"type":"default"}',
        'messages 4 content 1 {"type":"default"}',
      ],
    ],
    [
      "Bedrock by Anthropic's format",
      (fetch: Fetch) =>
        createAmazonBedrockAnthropic({ apiKey: "k", region: "us-east-1", fetch })(
          "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
      "cache_control",
      [
        `system 0 ${ephemeral}`,
        `messages 2 content 0 ${ephemeral}`,
        `messages 4 content 0 ${ephemeral}`,
        `tools 0 ${ephemeral}`,
      ],
    ],
    [
      "OpenRouter by an OpenAI-compatible client",
      (fetch: Fetch) =>
        createOpenAICompatible({ name: "openrouter", baseURL: "http://x", fetch })(
          "anthropic/claude-sonnet-4.5",
        ),
      "cache_control",
      [`messages 0 ${ephemeral}`, `messages 3 ${ephemeral}`, `messages 5 ${ephemeral}`],
    ],
    [
      "the gateway",
      (fetch: Fetch) => createGateway({ apiKey: "k", fetch })("anthropic/claude-sonnet-4.5"),
      "cacheControl",
      [
        `prompt 0 providerOptions anthropic ${ephemeral}`,
        `prompt 3 content 0 providerOptions anthropic ${ephemeral}`,
        `prompt 5 content 0 providerOptions anthropic ${ephemeral}`,
        `tools 0 providerOptions anthropic ${ephemeral}`,
      ],
    ],
  ] as const)("marks Claude's prompt for %s", async (_, modelWith, field, places) => {
    expect(placesOf(await posted(source, modelWith), field).toSorted()).toEqual(places.toSorted());
  });

  it.each([
    [
      "Claude 3.5 Sonnet of Bedrock, which refuses them",
      converse("anthropic.claude-3-5-sonnet-20240620-v1:0"),
    ],
    ["Nova", converse("amazon.nova-pro-v1:0")],
    [
      "GPT of OpenRouter",
      (fetch: Fetch) =>
        createOpenAICompatible({ name: "openrouter", baseURL: "http://x", fetch })("openai/gpt-5"),
    ],
    [
      "a server that speaks as OpenAI does",
      (fetch: Fetch) => createOpenAI({ apiKey: "k", baseURL: "http://x", fetch }).chat("qwen3"),
    ],
    [
      "a proxy of OpenAI under another name",
      (fetch: Fetch) => createOpenAI({ name: "proxy", apiKey: "k", fetch }).chat("gpt-5"),
    ],
    // It refuses the key: https://github.com/zed-industries/zed/issues/52000
    [
      "Kimi of Azure",
      (fetch: Fetch) => createAzure({ apiKey: "k", resourceName: "r", fetch }).chat("Kimi-K2.5"),
    ],
    [
      "a deployment of Azure whose model is not known",
      (fetch: Fetch) => createAzure({ apiKey: "k", resourceName: "r", fetch })("my-deployment"),
    ],
  ] as const)("sends neither marks nor a key to %s", async (_, modelWith) => {
    expect(await posted(source, modelWith)).toBe(
      await posted(source, modelWith, { caching: undefined }),
    );
  });

  it.each([
    ["OpenAI's responses", (fetch: Fetch) => createOpenAI({ apiKey: "k", fetch })("gpt-5")],
    ["OpenAI's chat", (fetch: Fetch) => createOpenAI({ apiKey: "k", fetch }).chat("gpt-4.1")],
    [
      "Azure's responses",
      (fetch: Fetch) => createAzure({ apiKey: "k", resourceName: "r", fetch })("gpt-5-chat"),
    ],
    [
      "Azure's chat",
      (fetch: Fetch) => createAzure({ apiKey: "k", resourceName: "r", fetch }).chat("gpt-4.1-eu"),
    ],
  ] as const)("gives %s the session's key, beside the user's options", async (_, modelWith) => {
    for (const namespace of [undefined, "openai", "azure"]) {
      const agent =
        namespace === undefined
          ? {}
          : { providerOptions: { [namespace]: { serviceTier: "flex" } } };
      const given = await posted(source, modelWith, { caching: undefined, agent });
      const body = await posted(source, modelWith, { agent });
      expect(JSON.parse(body)).toEqual({
        ...(JSON.parse(given) as object),
        prompt_cache_key: "k",
      });
    }
  });

  const own = { anthropic: { cacheControl: { type: "ephemeral" } } };
  it.each([
    ["settings", { agent: { providerOptions: own } }],
    [
      "instructions",
      { agent: { instructions: { role: "system", content: "Hi.", providerOptions: own } } },
    ],
    ["tools", { agent: { tools: { look: { ...look, providerOptions: own } } } }],
    [
      "a message",
      {
        messages: [
          { role: "user", content: "Look.", providerOptions: own },
          ...conversation.slice(1),
        ],
      },
    ],
    [
      "a part of a message",
      {
        messages: [
          { role: "user", content: [{ type: "text", text: "Look.", providerOptions: own }] },
        ],
      },
    ],
    [
      "an output",
      {
        messages: [
          ...conversation.slice(0, 2),
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                toolCallId: "a",
                toolName: "look",
                output: {
                  type: "content",
                  value: [{ type: "text", text: "seen", providerOptions: own }],
                },
              },
            ],
          },
        ],
      },
    ],
    ["a thread", { agent: { providerOptions: { anthropic: { thread: { type: "create" } } } } }],
  ] as const)("has no marks beside the user's own in %s", async (_, request) => {
    const given = request as Parameters<typeof posted>[2];
    const plain = await posted(source, claude, { ...given, caching: undefined });
    expect(plain).not.toBe("");
    expect(await posted(source, claude, given)).toBe(plain);
  });

  it("has no key beside the user's own", async () => {
    const agent = { providerOptions: { openai: { promptCacheKey: "mine" } } };
    const body = await posted(source, (fetch) => createOpenAI({ apiKey: "k", fetch })("gpt-5"), {
      agent,
    });
    expect(placesOf(body, "prompt_cache_key")).toEqual(['"mine"']);
  });

  it("marks nothing that is empty, and no tool that the model looks up", async () => {
    const deferred = { ...look, providerOptions: { anthropic: { deferLoading: true } } };
    const body = await posted(source, claude, {
      agent: { instructions: "", tools: { look, deferred } },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "text", text: " " },
          ],
        },
        asks("a"),
        answer("a", ""),
      ],
    });
    expect(placesOf(body, "cache_control")).toEqual([
      `messages 0 content 0 ${ephemeral}`,
      `tools 0 ${ephemeral}`,
    ]);
  });

  it("names the lifetime that the user chose", async () => {
    const request = { caching: { ...caching, ttl: "1h" } } as const;
    const hour = '{"type":"ephemeral","ttl":"1h"}';
    const places = placesOf(await posted(source, claude, request), "cache_control");
    expect(places.every((place) => place.endsWith(hour))).toBe(true);
    const points = placesOf(
      await posted(source, converse("anthropic.claude-sonnet-4-5-20250929-v1:0"), request),
      "cachePoint",
    );
    expect(points.every((place) => place.endsWith('{"type":"default","ttl":"1h"}'))).toBe(true);
  });

  it("leaves the marks of a model that is named to the gateway", async () => {
    const before: unknown = Reflect.get(globalThis, "AI_SDK_DEFAULT_PROVIDER");
    try {
      const ask = async (more: Parameters<typeof posted>[2]): Promise<string> =>
        await posted(
          source,
          (fetch) => {
            Reflect.set(
              globalThis,
              "AI_SDK_DEFAULT_PROVIDER",
              createGateway({ apiKey: "k", fetch }),
            );
            return "anthropic/claude-sonnet-4.5";
          },
          more,
        );
      expect(placesOf(await ask({}), "caching")).toEqual(['providerOptions gateway "auto"']);
      expect(placesOf(await ask({ caching: undefined }), "caching")).toEqual([]);
      const marked = {
        instructions: { role: "system", content: "Hi.", providerOptions: own },
      } as const;
      expect(placesOf(await ask({ agent: marked }), "caching")).toEqual([]);
    } finally {
      Reflect.set(globalThis, "AI_SDK_DEFAULT_PROVIDER", before);
    }
  });
});

describe.each(["language-model-call", "stream-text"] as const)("a session (%s)", (stepSource) => {
  const talk = async (promptCache?: Agent["promptCache"]) => {
    await using server = await provider(anthropic, anthropic.calling);
    await using log = await openMemoryLog();
    const agent: Agent = {
      model: anthropic.model(server.url),
      tools: { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) },
      ...(promptCache === undefined ? {} : { promptCache }),
    };
    const clock = () => 1000;
    await using open = await openSession(agent, { log, stepSource, clock, newId: ids() });
    await (
      await open.session.send("Look.")
    ).result;
    await (
      await open.session.send("And now?")
    ).result;
    return {
      bodies: server.posted.map(({ body }) => JSON.stringify(body)),
      events: await open.events(),
      prompt: JSON.stringify(await promptWithMedia(log, "s")),
    };
  };

  it("sends marks that only its requests have: the log and every other byte are as without", async () => {
    const marked = await talk();
    const plain = await talk("off");
    const marks = marked.bodies.map((body) => placesOf(body, "cache_control"));
    expect(marks.map(({ length }) => length)).toEqual([2, 3, 3]);
    expect(plain.bodies.join("")).not.toContain("cache_control");
    const withoutMarks = marked.bodies.map((body) =>
      body.replaceAll(/,?"cache_control":\{[^}]*\}/g, ""),
    );
    expect(withoutMarks).toEqual(plain.bodies);
    expect(marked.prompt).toBe(plain.prompt);
    const told = ({ events }: typeof plain) =>
      events.map(({ time: _, ...event }) =>
        JSON.stringify(event).replaceAll(/"timestamp":\d+/g, ""),
      );
    expect(told(marked)).toEqual(told(plain));
  });
});

function ids(): () => string {
  let count = 0;
  return () => `id-${++count}`;
}

describe("where a later read is likely", () => {
  const minutes = (count: number): number => count * 60_000;

  /** The marks of each request, where a message is sent at each of these minutes. */
  async function marksOf(
    agent: Partial<Agent>,
    times: readonly number[],
  ): Promise<readonly number[]> {
    let now = 0;
    await using server = await provider(anthropic);
    const model = anthropic.model(server.url);
    await using open = await openSession(
      { model, instructions: "Hi.", ...agent },
      { clock: () => now },
    );
    for (const time of times) {
      now = minutes(time);
      await (
        await open.session.send(`It is ${time}.`)
      ).result;
    }
    return server.posted.map(({ body }) => placesOf(JSON.stringify(body), "cache_control").length);
  }

  it("a question without tools is not marked before the conversation continues within the lifetime", async () => {
    expect(await marksOf({}, [0, 1, 7, 8])).toEqual([0, 3, 0, 3]);
    expect(await marksOf({ promptCache: { ttl: "1h" } }, [0, 7, 60, 130])).toEqual([0, 3, 3, 0]);
  });

  it("a turn with tools is marked until the turns turn out to take one step, long apart", async () => {
    expect(await marksOf({ tools: { look } }, [0, 10, 11])).toEqual([3, 0, 4]);
  });

  it("a summary is written without marks: its prompt is sent once", async () => {
    await using server = await provider(anthropic);
    const model = anthropic.model(server.url);
    const agent: Agent = { model, tools: { look } };
    await using open = await openSession(agent);
    for (const text of ["One.", "Two.", "Three."]) {
      await (
        await open.session.send(text)
      ).result;
    }
    const before = server.posted.length;
    await open.session.compact();
    const summaries = server.posted.slice(before).map(({ body }) => JSON.stringify(body));
    expect(summaries.length).toBeGreaterThan(0);
    for (const summary of summaries) expect(summary).not.toContain("cache_control");
  });
});

it("a fork has the key of its origin, another session its own", async () => {
  await using server = await provider(openai);
  const agent: Agent = { model: openai.model(server.url) };
  await using runtime = await createRuntime({ memory: true, agent });
  const session = await runtime.session("a");
  const say = async (to: typeof session, text: string): Promise<void> => {
    await (
      await to.send(text)
    ).result;
  };
  await say(session, "Hi.");
  const fork = await session.fork({ id: "b" });
  await say(fork, "One.");
  const again = await fork.fork({ id: "c" });
  await say(again, "Two.");
  await say(await runtime.session("d"), "Hi.");
  await say(session, "More.");
  const keys = server.posted.map(({ body }) => placesOf(JSON.stringify(body), "prompt_cache_key"));
  const [[first], , , [other]] = keys as [string[], string[], string[], string[]];
  expect(keys).toEqual([[first], [first], [first], [other], [first]]);
  expect(other).not.toBe(first);
  expect(JSON.parse(String(first))).toHaveLength(32);
});
