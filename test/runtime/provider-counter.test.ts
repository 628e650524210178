/** Counting by the provider: the real clients, against a server that keeps what it was asked. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createAnthropic, type AnthropicLanguageModelOptions } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { tool, type LanguageModel, type ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { providerCounter } from "../../src/public/index.ts";
import type { CountRequest, TokenCounter } from "../../src/agent/index.ts";

interface Asked {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

interface Provider extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
}

/** Answers every request with the same. */
async function provider(answer: unknown, status = 200): Promise<Provider> {
  const asked: Asked[] = [];
  const server = createServer((message, response) => {
    void json(message).then((body) => {
      asked.push({ path: message.url, headers: message.headers, body });
      response.writeHead(status, { "content-type": "application/json" });
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

type Client = (url: string, fetch: typeof globalThis.fetch) => LanguageModel;

const openai: Client = (url, fetch) =>
  createOpenAI({ baseURL: `${url}/v1`, apiKey: "secret", fetch })("gpt-5");
const chat: Client = (url, fetch) =>
  createOpenAI({ baseURL: `${url}/v1`, apiKey: "secret", fetch }).chat("gpt-4.1");
const anthropic: Client = (url, fetch) =>
  createAnthropic({ baseURL: `${url}/v1`, apiKey: "secret", fetch })("claude-sonnet-4-5");
const google: Client = (url, fetch) =>
  createGoogle({ baseURL: `${url}/v1beta`, apiKey: "secret", fetch })("gemini-2.5-flash");
const vertex: Client = (url, fetch) =>
  createGoogle({
    baseURL: `${url}/v1/projects/p/locations/l/publishers/google`,
    apiKey: "secret",
    fetch,
  })("gemini-2.5-flash");

function counterOf(client: Client, { url }: Provider): TokenCounter {
  return providerCounter((fetch) => client(url, fetch));
}

const messages: readonly ModelMessage[] = [
  { role: "user", content: "Weather in Oslo?" },
  {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Oslo" } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c1",
        toolName: "weather",
        output: { type: "text", value: "rain" },
      },
    ],
  },
];

const request: CountRequest = {
  instructions: "You know the weather.",
  tools: {
    weather: tool({ description: "Looks it up.", inputSchema: z.object({ city: z.string() }) }),
  },
  // What is of a reply and not of a prompt does not go there.
  maxOutputTokens: 500,
  temperature: 0.5,
  headers: { "x-team": "ours" },
  messages,
  signal: new AbortController().signal,
};

const options = {
  thinking: { type: "enabled", budgetTokens: 2000 },
  cacheControl: { type: "ephemeral" },
  metadata: { userId: "u" },
} satisfies AnthropicLanguageModelOptions;

const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

describe("a prompt", () => {
  it("is counted by OpenAI at responses/input_tokens, as the Responses client has made it", async () => {
    await using server = await provider({ object: "response.input_tokens", input_tokens: 123 });
    expect(
      await counterOf(openai, server).count({
        ...request,
        providerOptions: { openai: { reasoningEffort: "low", store: false, user: "u" } },
      }),
    ).toBe(123);
    const [asked, ...more] = server.asked;
    expect(more).toEqual([]);
    expect(asked?.path).toBe("/v1/responses/input_tokens");
    expect(asked?.headers).toMatchObject({ authorization: "Bearer secret", "x-team": "ours" });
    expect(asked?.body).toEqual({
      model: "gpt-5",
      input: [
        { role: "developer", content: "You know the weather." },
        { role: "user", content: [{ type: "input_text", text: "Weather in Oslo?" }] },
        { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Oslo"}' },
        { type: "function_call_output", call_id: "c1", output: "rain" },
      ],
      tools: [
        {
          type: "function",
          name: "weather",
          description: "Looks it up.",
          parameters: expect.objectContaining(schema) as unknown,
          strict: false,
        },
      ],
      tool_choice: "auto",
      reasoning: { effort: "low", summary: "detailed" },
    });
  });

  it("is counted by Anthropic at messages/count_tokens, as its client has made it", async () => {
    await using server = await provider({ input_tokens: 456 });
    const counter = counterOf(anthropic, server);
    const providerOptions = { anthropic: { ...options } };
    expect(await counter.count({ ...request, providerOptions })).toBe(456);
    const [asked, ...more] = server.asked;
    expect(more).toEqual([]);
    expect(asked?.path).toBe("/v1/messages/count_tokens");
    expect(asked?.headers).toMatchObject({
      "x-api-key": "secret",
      "anthropic-version": "2023-06-01",
      "x-team": "ours",
    });
    expect(asked?.body).toEqual({
      model: "claude-sonnet-4-5",
      system: [{ type: "text", text: "You know the weather." }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Weather in Oslo?" }] },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "rain" }] },
      ],
      tools: [
        {
          name: "weather",
          description: "Looks it up.",
          input_schema: expect.objectContaining(schema) as unknown,
          eager_input_streaming: true,
        },
      ],
      tool_choice: { type: "auto" },
      // As the step is sent: a turn whose call was made without thinking continues without it.
      thinking: { type: "disabled" },
      cache_control: { type: "ephemeral" },
    });
  });

  it("is counted by Google at :countTokens within a whole request, as its client has made it", async () => {
    await using server = await provider({ totalTokens: 789 });
    expect(await counterOf(google, server).count(request)).toBe(789);
    const [asked, ...more] = server.asked;
    expect(more).toEqual([]);
    expect(asked?.path).toBe("/v1beta/models/gemini-2.5-flash:countTokens");
    expect(asked?.headers).toMatchObject({ "x-goog-api-key": "secret", "x-team": "ours" });
    expect(asked?.body).toEqual({
      generateContentRequest: {
        model: "models/gemini-2.5-flash",
        systemInstruction: { parts: [{ text: "You know the weather." }] },
        contents: [
          { role: "user", parts: [{ text: "Weather in Oslo?" }] },
          {
            role: "model",
            parts: [
              expect.objectContaining({
                functionCall: expect.objectContaining({
                  name: "weather",
                  args: { city: "Oslo" },
                }) as unknown,
              }) as unknown,
            ],
          },
          {
            role: "user",
            parts: [
              {
                functionResponse: expect.objectContaining({
                  name: "weather",
                  response: { name: "weather", content: "rain" },
                }) as unknown,
              },
            ],
          },
        ],
        tools: [
          {
            functionDeclarations: [
              {
                name: "weather",
                description: "Looks it up.",
                parametersJsonSchema: expect.objectContaining(schema) as unknown,
              },
            ],
          },
        ],
        toolConfig: { functionCallingConfig: { mode: "AUTO" } },
        generationConfig: expect.objectContaining({ maxOutputTokens: 500 }) as unknown,
      },
    });
  });

  it("is sent to nobody who answers it: the model is not asked", async () => {
    await using server = await provider({ input_tokens: 456 });
    const paths = async (client: Client): Promise<unknown> => {
      await counterOf(client, server).count(request);
      return server.asked.map(({ path }) => path);
    };
    expect(await paths(anthropic)).toEqual(["/v1/messages/count_tokens"]);
    expect(await paths(openai)).toEqual([
      "/v1/messages/count_tokens",
      "/v1/responses/input_tokens",
    ]);
  });

  it.each<[string, Client, string]>([
    ["Chat Completions", chat, "/v1/chat/completions"],
    [
      "Vertex AI, which takes another body",
      vertex,
      "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:streamGenerateContent",
    ],
  ])("is not counted for %s, and nothing is sent there", async (_, client, path) => {
    await using server = await provider({ input_tokens: 1 });
    await expect(counterOf(client, server).count(request)).rejects.toThrow(
      `No endpoint is known that counts requests to ${server.url}${path}.`,
    );
    expect(server.asked).toEqual([]);
  });

  it.each<[string, unknown, number, string]>([
    [
      "refuses",
      { error: { message: "slow down" } },
      429,
      'answered 429: {"error":{"message":"slow down"}}',
    ],
    ["answers something else", { object: "list" }, 200, 'answered 200: {"object":"list"}'],
    ["answers no JSON", "<html>", 200, "answered 200: <html>"],
    [
      "answers a text for a number",
      { input_tokens: "9" },
      200,
      'answered 200: {"input_tokens":"9"}',
    ],
  ])(
    "is not counted where the provider %s, and the error says so without a key",
    async (_, answer, status, said) => {
      await using server = await provider(answer, status);
      const failure = await counterOf(anthropic, server).count(request).then(String, String);
      expect(failure).toBe(`Error: ${server.url}/v1/messages/count_tokens ${said}`);
    },
  );

  it("is not counted where the client makes no request", async () => {
    const counter = providerCounter((fetch) => createOpenAI({ fetch, apiKey: "secret" })("gpt-5"));
    const invalid = { ...request, providerOptions: { openai: { reasoningEffort: 7 } } };
    await expect(counter.count(invalid)).rejects.toThrow("invalid");
  });

  it("is not waited for when the signal aborts", async () => {
    const stop = new AbortController();
    const counter = providerCounter((fetch) => createOpenAI({ fetch, apiKey: "secret" })("gpt-5"), {
      fetch: (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => {
            reject(new Error("aborted"));
          });
          stop.abort();
        }),
    });
    await expect(counter.count({ ...request, signal: stop.signal })).rejects.toThrow("aborted");
  });
});
