/** A fair body of each format, and for each rule a change that breaks it. */

import type { ProviderFormat, ProviderName } from "./providers.ts";

type Json = Readonly<Record<string, unknown>>;

/** A picture of one pixel, and a document of one page. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const pdf = Buffer.from("%PDF-1.4\n1 0 obj<<>>endobj\n%%EOF\n").toString("base64");

const schema = { type: "object", properties: { at: { type: "string" } } };
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: png } };
const document = {
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: pdf },
};
const mark = { type: "ephemeral" };

const fair: Record<ProviderFormat, Json> = {
  anthropic: {
    model: "claude-sonnet-4-5",
    max_tokens: 100,
    thinking: { type: "enabled", budget_tokens: 1024 },
    system: [{ type: "text", text: "Be brief.", cache_control: { ...mark, ttl: "1h" } }],
    tools: [{ name: "look", input_schema: schema }],
    messages: [
      { role: "user", content: [{ type: "text", text: "What is there?" }, image, document] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "signed" },
          { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
          { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
          { type: "tool_use", id: "c1", name: "look", input: { at: "it" } },
          { type: "tool_use", id: "c2", name: "look", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "A house." },
          { type: "tool_result", tool_use_id: "c2", content: [{ type: "text", text: "A tree." }] },
          { type: "text", text: "Go on.", cache_control: mark },
        ],
      },
    ],
  },
  "openai-chat": {
    model: "deepseek-v4-pro",
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is there?" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
      {
        role: "assistant",
        content: "I look.",
        reasoning_content: "Hm.",
        tool_calls: [
          {
            id: "callnumb1",
            type: "function",
            function: { name: "look", arguments: '{"at":"it"}' },
          },
          { id: "callnumb2", type: "function", function: { name: "look", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "callnumb1", content: "A house." },
      { role: "tool", tool_call_id: "callnumb2", content: "A tree." },
    ],
    tools: [{ type: "function", function: { name: "look", parameters: schema } }],
  },
  "openai-responses": {
    model: "gpt-5.1",
    store: false,
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is there?" },
          { type: "input_image", image_url: `data:image/png;base64,${png}` },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "A house." },
      {
        role: "assistant",
        id: "msg_1",
        content: [{ type: "output_text", text: "A house." }],
      },
      { role: "user", content: [{ type: "input_text", text: "Go on." }] },
    ],
    tools: [{ type: "function", name: "look", parameters: schema }],
  },
  google: {
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [
      {
        role: "user",
        parts: [
          { text: "What is there?" },
          { inlineData: { mimeType: "image/png", data: png } },
          { inlineData: { mimeType: "application/pdf", data: pdf } },
        ],
      },
      {
        role: "model",
        parts: [
          { functionCall: { name: "look", args: { at: "it" } }, thoughtSignature: "c2lnbmVk" },
          { functionCall: { name: "look", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "look", response: { content: "A house." } } },
          { functionResponse: { name: "look", response: { content: "A tree." } } },
        ],
      },
    ],
    tools: [{ functionDeclarations: [{ name: "look", parameters: schema }] }],
  },
  "amazon-bedrock": {
    additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1024 } },
    messages: [
      { role: "user", content: [{ text: "What is there?" }] },
      {
        role: "assistant",
        content: [
          { reasoningContent: { reasoningText: { text: "Hm.", signature: "signed" } } },
          { toolUse: { toolUseId: "c1", name: "look", input: {} } },
          { toolUse: { toolUseId: "c2", name: "look", input: {} } },
        ],
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "c1", content: [{ text: "" }] } },
          { toolResult: { toolUseId: "c2", content: [{ text: "A tree." }] } },
        ],
      },
    ],
    toolConfig: { tools: [{ toolSpec: { name: "look", inputSchema: { json: schema } } }] },
  },
};

/** Groq's own is without reasoning, which all others take. */
export function fairBody(provider: ProviderName, format: ProviderFormat): Json {
  const body = fair[format];
  return provider === "groq" ? changed(body, ["messages", 2, "reasoning_content"]) : body;
}

type Path = readonly (string | number)[];

/** A body with a value at a path, or without what is there. */
function changed(body: Json, path: Path, ...value: readonly unknown[]): Json {
  const copy = structuredClone(body);
  const place = path.at(-1) ?? "";
  // The paths are those of this file's bodies.
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((one, key) => (one as Record<string | number, unknown>)[key], copy) as Record<
    string | number,
    unknown
  >;
  if (value.length > 0) parent[place] = value[0];
  else if (Array.isArray(parent)) parent.splice(Number(place), 1);
  else delete parent[place];
  return copy;
}

type Change = (body: Json) => Json;
const put =
  (path: Path, value: unknown): Change =>
  (body) =>
    changed(body, path, value);
const drop =
  (path: Path): Change =>
  (body) =>
    changed(body, path);
const all =
  (...changes: readonly Change[]): Change =>
  (body) =>
    changes.reduce((made, change) => change(made), body);

const half = "half of a \ud83d";
const broken = png.slice(0, 40);
const badName = "look up.it";

export const breaking: Record<ProviderFormat, Readonly<Record<string, Change>>> = {
  anthropic: {
    "whole-characters": put(["messages", 2, "content", 0, "content"], half),
    "user-first": drop(["messages", 0]),
    "input-last": drop(["messages", 2]),
    content: put(["messages", 0, "content"], []),
    text: put(["messages", 2, "content", 1, "content", 0, "text"], ""),
    "text-of-letters": put(["messages", 0, "content", 0, "text"], " \n"),
    "call-id": put(["messages", 1, "content", 3, "id"], "functions.look:0"),
    "unique-calls": put(["messages", 1, "content", 4, "id"], "c1"),
    "called-name": put(["messages", 1, "content", 3, "name"], badName),
    "call-input": put(["messages", 1, "content", 3, "input"], "{ not JSON"),
    "calls-answered": drop(["messages", 2, "content", 0]),
    "results-called": drop(["messages", 1, "content", 4]),
    "one-result": put(["messages", 2, "content", 1, "tool_use_id"], "c1"),
    "results-first": all(
      drop(["messages", 2, "content", 1]),
      put(["messages", 2, "content", 2], { type: "tool_result", tool_use_id: "c2" }),
    ),
    "signed-thinking": drop(["messages", 1, "content", 0, "signature"]),
    "thinking-first": drop(["messages", 1, "content", 0]),
    "provider-calls-answered": drop(["messages", 1, "content", 2]),
    "provider-results-called": drop(["messages", 1, "content", 1]),
    marks: put(
      ["tools"],
      ["a", "b", "c"].map((name) => ({
        name,
        input_schema: schema,
        cache_control: { ...mark, ttl: "1h" },
      })),
    ),
    "mark-lifetimes": put(["tools", 0, "cache_control"], mark),
    "marked-text": put(["messages", 2, "content", 2, "text"], ""),
    "marked-thinking": put(["messages", 1, "content", 0, "cache_control"], mark),
    "image-type": put(["messages", 0, "content", 1, "source", "media_type"], "image/svg+xml"),
    "image-data": put(["messages", 0, "content", 1, "source", "data"], broken),
    pdf: put(["messages", 0, "content", 2, "source", "data"], "Z2FyYmFnZQ=="),
    "document-text": put(["messages", 0, "content", 2, "source"], { type: "text", data: "\n" }),
    "tool-name": put(["tools", 0, "name"], badName),
    "unique-tools": put(["tools", 1], { name: "look", input_schema: schema }),
    "object-schema": put(["tools", 0, "input_schema"], {}),
    "plain-schema": put(["tools", 0, "input_schema"], { ...schema, anyOf: [{ required: ["at"] }] }),
    "property-names": put(["tools", 0, "input_schema", "properties"], { "at []": {} }),
  },
  "openai-responses": {
    "whole-characters": put(["input", 3, "output"], half),
    input: put(["input"], []),
    "called-name": put(["input", 2, "name"], badName),
    "called-name-length": put(["input", 2, "name"], "look".repeat(30)),
    "call-arguments": put(["input", 2, "arguments"], "{ not JSON"),
    "call-id": put(["input", 2, "call_id"], "c".repeat(65)),
    "unique-calls": put(["input", 6], {
      type: "function_call",
      call_id: "c1",
      name: "look",
      arguments: "{}",
    }),
    "unique-items": put(["input", 4, "id"], "fc_1"),
    "calls-answered": drop(["input", 3]),
    "outputs-called": drop(["input", 2]),
    "one-output": put(["input", 6], { type: "function_call_output", call_id: "c1", output: "" }),
    "item-id": put(["input", 4, "id"], "item_1"),
    "item-id-form": put(["input", 4, "id"], "msg:1"),
    "reasoning-followed": all(drop(["input", 3]), drop(["input", 2]), drop(["input", 2])),
    "stored-items": drop(["input", 1, "encrypted_content"]),
    "image-data": put(["input", 0, "content", 1, "image_url"], `data:image/png;base64,${broken}`),
    "tool-name": put(["tools", 0, "name"], badName),
    "object-schema": put(["tools", 0, "parameters"], {}),
    "plain-schema": put(["tools", 0, "parameters"], { ...schema, anyOf: [{ required: ["at"] }] }),
  },
  "openai-chat": {
    "whole-characters": put(["messages", 3, "content"], half),
    messages: put(["messages"], []),
    "reply-content": all(put(["messages", 2, "content"], ""), drop(["messages", 2, "tool_calls"])),
    "user-content": put(["messages", 1, "content"], ""),
    "called-name": put(["messages", 2, "tool_calls", 0, "function", "name"], badName),
    "called-name-length": put(
      ["messages", 2, "tool_calls", 0, "function", "name"],
      "look".repeat(30),
    ),
    "call-id": put(["messages", 2, "tool_calls", 0, "id"], "c".repeat(41)),
    "call-arguments": put(["messages", 2, "tool_calls", 0, "function", "arguments"], "{ not JSON"),
    "unique-calls": put(["messages", 2, "tool_calls", 1, "id"], "callnumb1"),
    "calls-answered": drop(["messages", 3]),
    "one-result": put(["messages", 4, "tool_call_id"], "callnumb1"),
    "results-called": put(["messages", 4, "tool_call_id"], "callnumb3"),
    "image-data": put(
      ["messages", 1, "content", 1, "image_url", "url"],
      `data:image/png;base64,${broken}`,
    ),
    "tool-name": put(["tools", 0, "function", "name"], badName),
    "object-schema": put(["tools", 0, "function", "parameters"], {}),
    "plain-schema": put(["tools", 0, "function", "parameters"], {
      ...schema,
      anyOf: [{ required: ["at"] }],
    }),
    "deepseek-reasoning": drop(["messages", 2, "reasoning_content"]),
    "moonshot-reasoning": all(
      put(["model"], "kimi-k2.5"),
      put(["messages", 2, "reasoning_content"], ""),
    ),
    "xai-content": put(["messages", 2, "content"], null),
    "groq-reasoning": put(["messages", 2, "reasoning_content"], "Hm."),
    "mistral-call-id": put(["messages", 2, "tool_calls", 0, "id"], "call_1"),
    "mistral-order": put(["messages", 5], { role: "user", content: "And now?" }),
    "mistral-last": put(["messages", 5], { role: "assistant", content: "A house." }),
    "mistral-results": drop(["messages", 3]),
  },
  google: {
    "whole-characters": put(["contents", 0, "parts", 0, "text"], half),
    contents: put(["contents"], []),
    roles: put(["contents", 2, "role"], "function"),
    "user-first": drop(["contents", 0]),
    "turns-alternate": put(["contents", 2], { role: "model", parts: [{ text: "Hm." }] }),
    "input-last": drop(["contents", 2]),
    parts: put(["contents", 0, "parts"], []),
    "part-data": put(["contents", 0, "parts"], [{ text: "" }]),
    "calls-after-input": drop(["contents", 0]),
    "calls-answered": drop(["contents", 2, "parts", 0]),
    "responses-called": put(["contents", 1], { role: "model", parts: [{ text: "Hm." }] }),
    "called-name": put(["contents", 1, "parts", 0, "functionCall", "name"], badName),
    "call-args": put(["contents", 1, "parts", 0, "functionCall", "args"], "{ not JSON"),
    "response-object": put(["contents", 2, "parts", 0, "functionResponse", "response"], "A house."),
    "thought-signature": drop(["contents", 1, "parts", 0, "thoughtSignature"]),
    "signature-bytes": put(["contents", 1, "parts", 0, "thoughtSignature"], "not base64!"),
    "inline-data": put(["contents", 0, "parts", 1, "inlineData", "data"], ""),
    "image-data": put(["contents", 0, "parts", 1, "inlineData", "data"], broken),
    pdf: put(["contents", 0, "parts", 2, "inlineData", "data"], "Z2FyYmFnZQ=="),
    "tool-name": put(["tools", 0, "functionDeclarations", 0, "name"], "1look"),
    "unique-tools": put(["tools", 0, "functionDeclarations", 1], { name: "look" }),
    "object-schema": put(["tools", 0, "functionDeclarations", 0, "parameters"], {}),
  },
  "amazon-bedrock": {
    "whole-characters": put(["messages", 0, "content", 0, "text"], half),
    "user-first": drop(["messages", 0]),
    "input-last": drop(["messages", 2]),
    "turns-alternate": put(["messages", 3], { role: "user", content: [{ text: "Go on." }] }),
    content: put(["messages", 0, "content"], []),
    text: put(["messages", 0, "content", 0, "text"], " "),
    "called-name": put(["messages", 1, "content", 1, "toolUse", "name"], badName),
    "call-id": put(["messages", 1, "content", 1, "toolUse", "toolUseId"], "c".repeat(65)),
    "unique-calls": put(["messages", 1, "content", 2, "toolUse", "toolUseId"], "c1"),
    "call-input": put(["messages", 1, "content", 1, "toolUse", "input"], "{ not JSON"),
    "calls-answered": drop(["messages", 2, "content", 0]),
    "results-called": drop(["messages", 1, "content", 1]),
    "thinking-first": drop(["messages", 1, "content", 0]),
    "signed-reasoning": drop([
      "messages",
      1,
      "content",
      0,
      "reasoningContent",
      "reasoningText",
      "signature",
    ]),
    "tools-defined": drop(["toolConfig"]),
    "tool-name": put(["toolConfig", "tools", 0, "toolSpec", "name"], badName),
    "object-schema": put(["toolConfig", "tools", 0, "toolSpec", "inputSchema", "json"], {}),
  },
};
