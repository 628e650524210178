/** The real clients of providers, and streams in the form of each: whole, cut, and with any reason to finish. */

import { createAlibaba } from "@ai-sdk/alibaba";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createCerebras } from "@ai-sdk/cerebras";
import { createCohere } from "@ai-sdk/cohere";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogle } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createMoonshotAI } from "@ai-sdk/moonshotai";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createPerplexity } from "@ai-sdk/perplexity";
import { createXai } from "@ai-sdk/xai";
import type { LanguageModel } from "ai";

type Fetch = typeof globalThis.fetch;

/** What a reply of a fake provider is. Without `reason` its stream ends without one. */
export interface ReplyBody {
  readonly text?: string;
  readonly thought?: string;
  /** A call whose input is cut off. */
  readonly cutCall?: true;
  readonly reason?: string;
}

export interface ReplyClient {
  readonly model: (fetch: Fetch) => LanguageModel;
  readonly chunks: (body: ReplyBody) => readonly unknown[];
  /** The provider's word for a reply that ended as it should. */
  readonly stop: string;
}

const apiKey = "key";

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const chatChunk = (delta: object, reason: string | null = null, more: object = {}): object => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: reason }],
  ...more,
});

function chat({ text, thought, cutCall, reason }: ReplyBody): readonly unknown[] {
  const call = { index: 0, id: "call00001", type: "function" };
  return [
    chatChunk({ role: "assistant", content: "" }),
    ...(thought === undefined ? [] : [chatChunk({ reasoning_content: thought })]),
    ...(text === undefined ? [] : [chatChunk({ role: "assistant", content: text })]),
    ...(cutCall === undefined
      ? []
      : [
          chatChunk({
            tool_calls: [{ ...call, function: { name: "echo", arguments: '{"q":"a' } }],
          }),
        ]),
    ...(reason === undefined ? [] : [chatChunk({ content: "" }, reason, { usage }), "[DONE]"]),
  ];
}

function messages({ text, thought, cutCall, reason }: ReplyBody): readonly unknown[] {
  const blocks = [
    ...(thought === undefined
      ? []
      : [{ type: "thinking", delta: { type: "thinking_delta", thinking: thought } }]),
    ...(text === undefined ? [] : [{ type: "text", delta: { type: "text_delta", text } }]),
    ...(cutCall === undefined
      ? []
      : [{ type: "tool_use", delta: { type: "input_json_delta", partial_json: '{"q":"a' } }]),
  ];
  const contents: Readonly<Record<string, object>> = {
    thinking: { thinking: "" },
    text: { text: "" },
    tool_use: { id: "call00001", name: "echo", input: {} },
  };
  return [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [],
        stop_reason: null,
        usage: { input_tokens: 100, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(({ type, delta }, index) => [
      { type: "content_block_start", index, content_block: { type, ...contents[type] } },
      { type: "content_block_delta", index, delta },
      ...(type === "tool_use" ? [] : [{ type: "content_block_stop", index }]),
    ]),
    ...(reason === undefined
      ? []
      : [
          {
            type: "message_delta",
            delta: { stop_reason: reason, stop_sequence: null },
            usage: { output_tokens: 10 },
          },
          { type: "message_stop" },
        ]),
  ];
}

function candidates({ text, thought, reason }: ReplyBody): readonly unknown[] {
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
  const said = [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
  ].map((part) => ({ candidates: [{ content: { role: "model", parts: [part] }, index: 0 }] }));
  if (reason === undefined) return said;
  return [
    ...said,
    { candidates: [{ content: { role: "model" }, finishReason: reason, index: 0 }], usageMetadata },
  ];
}

function responses({ text, reason }: ReplyBody): readonly unknown[] {
  const item = {
    type: "message",
    id: "msg",
    role: "assistant",
    status: "in_progress",
    content: [],
  };
  const response = { id: "r", object: "response", created_at: 1, model: "m", output: [] };
  const said = text === undefined ? "" : text;
  const incomplete = { ...response, status: "incomplete", incomplete_details: { reason } };
  const figures = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
  return [
    { type: "response.created", response: { ...response, status: "in_progress" } },
    { type: "response.output_item.added", output_index: 0, item },
    {
      type: "response.output_text.delta",
      item_id: "msg",
      output_index: 0,
      content_index: 0,
      delta: said,
    },
    ...(reason === undefined
      ? []
      : [
          { type: "response.output_item.done", output_index: 0, item },
          reason === "completed"
            ? {
                type: "response.completed",
                response: { ...response, status: "completed", usage: figures },
              }
            : { type: "response.incomplete", response: { ...incomplete, usage: figures } },
        ]),
  ];
}

function cohere({ text = "", reason }: ReplyBody): readonly unknown[] {
  const billed = { input_tokens: 100, output_tokens: 10 };
  return [
    { type: "message-start", id: "m" },
    {
      type: "content-start",
      index: 0,
      delta: { message: { content: { type: "text", text: "" } } },
    },
    { type: "content-delta", index: 0, delta: { message: { content: { text } } } },
    { type: "content-end", index: 0 },
    ...(reason === undefined
      ? []
      : [{ type: "message-end", delta: { finish_reason: reason, usage: { tokens: billed } } }]),
  ];
}

const inChat = (model: ReplyClient["model"]): ReplyClient => ({
  model,
  chunks: chat,
  stop: "stop",
});

export const replyClients: Readonly<Record<string, ReplyClient>> = {
  alibaba: inChat((fetch) => createAlibaba({ apiKey, fetch })("qwen-plus")),
  cerebras: inChat((fetch) => createCerebras({ apiKey, fetch })("gpt-oss-120b")),
  compatible: inChat((fetch) =>
    createOpenAICompatible({ name: "c", baseURL: "http://provider.invalid/v1", fetch })("m"),
  ),
  deepseek: inChat((fetch) => createDeepSeek({ apiKey, fetch })("deepseek-chat")),
  groq: inChat((fetch) => createGroq({ apiKey, fetch })("llama")),
  mistral: inChat((fetch) => createMistral({ apiKey, fetch })("mistral-large-latest")),
  moonshot: inChat((fetch) => createMoonshotAI({ apiKey, fetch })("kimi-k2")),
  "openai.chat": inChat((fetch) => createOpenAI({ apiKey, fetch }).chat("gpt-4o")),
  perplexity: inChat((fetch) => createPerplexity({ apiKey, fetch })("sonar")),
  "xai.chat": inChat((fetch) => createXai({ apiKey, fetch }).chat("grok-4")),
  anthropic: {
    model: (fetch) => createAnthropic({ apiKey, fetch })("claude-sonnet-4-5"),
    chunks: messages,
    stop: "end_turn",
  },
  cohere: {
    model: (fetch) => createCohere({ apiKey, fetch })("command-a-03-2025"),
    chunks: cohere,
    stop: "COMPLETE",
  },
  google: {
    model: (fetch) => createGoogle({ apiKey, fetch })("gemini-2.5-flash"),
    chunks: candidates,
    stop: "STOP",
  },
  "openai.responses": {
    model: (fetch) => createOpenAI({ apiKey, fetch }).responses("gpt-4o"),
    chunks: responses,
    stop: "completed",
  },
  "xai.responses": {
    model: (fetch) => createXai({ apiKey, fetch }).responses("grok-4"),
    chunks: responses,
    stop: "completed",
  },
};

/** The answer of an HTTP server with these chunks as server-sent events. */
export function streamed(chunks: readonly unknown[]): Response {
  const lines = chunks.map((chunk) => {
    const { type } = chunk as { readonly type?: string };
    const data = typeof chunk === "string" ? chunk : JSON.stringify(chunk);
    return `${type === undefined ? "" : `event: ${type}\n`}data: ${data}\n\n`;
  });
  return new Response(new Blob(lines).stream(), {
    headers: { "content-type": "text/event-stream" },
  });
}
