/** Providers for their real clients: local servers that keep what is posted, and answer in a few words. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { finalAnswer } from "../corpus/final-answer.ts";
import type { WireFormat } from "../corpus/wire-manifest.ts";
import { frame } from "../corpus/wire-stream.ts";

export interface Client {
  readonly format: WireFormat;
  readonly model: (url: string) => LanguageModel;
  /** A reply that calls `look`. */
  readonly calling: readonly object[];
}

export const openai: Client = {
  format: "openai-responses",
  model: (url) => createOpenAI({ baseURL: url, apiKey: "secret" }).responses("gpt-5"),
  calling: [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: {
        type: "function_call",
        id: "fc_1",
        call_id: "c1",
        name: "look",
        arguments: "{}",
        status: "completed",
      },
    },
    {
      type: "response.completed",
      response: { id: "resp_1", usage: { input_tokens: 20, output_tokens: 4 } },
    },
  ],
};

export const anthropic: Client = {
  format: "anthropic",
  model: (url) => createAnthropic({ baseURL: url, apiKey: "secret" })("claude-sonnet-4-5"),
  calling: [
    {
      type: "message_start",
      message: { id: "m", model: "claude", usage: { input_tokens: 20, output_tokens: 1 } },
    },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "c1", name: "look", input: {} },
    },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } },
    { type: "message_stop" },
  ],
};

export const google: Client = {
  format: "google",
  model: (url) => createGoogleGenerativeAI({ baseURL: url, apiKey: "secret" })("gemini-2.5-pro"),
  calling: [
    {
      candidates: [
        {
          content: { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 4 },
    },
  ],
};

export interface Posted {
  readonly body: unknown;
  readonly betas: unknown;
}

export interface Provider extends AsyncDisposable {
  readonly url: string;
  readonly posted: readonly Posted[];
}

/** Answers each request with a few words; the first one with a call, where there is one. */
export async function provider(
  { format }: Client,
  calling: readonly object[] = [],
): Promise<Provider> {
  const posted: Posted[] = [];
  const call = frame(
    format,
    calling.map((chunk) => JSON.stringify(chunk)),
  );
  const server = createServer((message, response) => {
    void json(message).then((body) => {
      posted.push({ body, betas: message.headers["anthropic-beta"] });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(posted.length === 1 && calling.length > 0 ? call : finalAnswer(format));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    posted,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
