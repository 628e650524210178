/** Replies of a model in the chunks of each provider. Pure. */

import type { ProviderFormat, ProviderName } from "./providers.ts";

/** A part of a reply, in as many deltas as its list has. */
export type ReplyPart =
  | { readonly text: string | readonly string[] }
  | {
      readonly thinking: string | readonly string[];
      /** Default: one of this reply's. */
      readonly signature?: string;
    }
  | {
      readonly call: {
        /** Default: one that this provider would give. */
        readonly id?: string;
        readonly name: string;
        /** A text is sent as it is, valid or not. Default: `{}`. */
        readonly input?: unknown;
      };
      /** Gemini's. Default: one of this reply's for the first call. */
      readonly signature?: string;
    };

/** What the provider bills for a request and its reply. */
export interface Bill {
  /** Tokens of the prompt at the plain price: neither read from the cache nor written to it. */
  readonly input: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly output: number;
}

export interface ReplyContent {
  readonly parts: readonly ReplyPart[];
  /** In the provider's own words. Default: what a model says that stops, or calls. */
  readonly finish?: string | undefined;
  readonly bill: Bill;
  /** Told apart by it: ids are made of it. */
  readonly number: number;
  readonly provider: ProviderName;
}

/** The chunks of a reply, and of them those that come at its end and say how it ended. */
export interface ReplyChunks {
  readonly content: readonly object[];
  readonly end: readonly (object | "[DONE]")[];
}

const deltas = (given: string | readonly string[]): readonly string[] =>
  typeof given === "string" ? [given] : given;

const inputText = (input: unknown): string =>
  typeof input === "string" ? input : JSON.stringify(input ?? {});

/** The id that a call gets which has none. */
function callId({ provider, number }: ReplyContent, index: number): string {
  switch (provider) {
    case "anthropic":
      return `toolu_${number}_${index}`;
    case "bedrock":
      return `tooluse_${number}_${index}`;
    case "mistral":
      return `call${number}n${index}`.padEnd(9, "0").slice(0, 9);
    default:
      return `call_${number}_${index}`;
  }
}

const isCalling = ({ parts }: ReplyContent): boolean => parts.some((part) => "call" in part);

/** Thinking as a gateway of the chat format streams it. */
function thought(provider: ProviderName, text: string): object {
  switch (provider) {
    case "groq":
    case "openrouter":
    case "openai-chat":
      return { reasoning: text };
    case "mistral":
      return { content: [{ type: "thinking", thinking: [{ type: "text", text }] }] };
    default:
      return { reasoning_content: text };
  }
}

/** The last chunks of the chat format: the bill comes in one of its own, except at Mistral and Groq. */
function billed(
  last: object,
  bare: object,
  usage: object,
  provider: ProviderName,
): readonly object[] {
  if (provider === "mistral") return [{ ...last, usage }];
  if (provider === "groq") return [{ ...last, x_groq: { id: "req_made_up", usage } }];
  return [last, { ...bare, usage }];
}

export const chunksOf: Record<ProviderFormat, (reply: ReplyContent) => ReplyChunks> = {
  anthropic: (reply) => {
    const { input, cacheRead = 0, cacheWrite = 0, output } = reply.bill;
    const content = reply.parts.flatMap((part, index): readonly object[] => {
      const block = (content_block: object, changes: readonly object[]): readonly object[] => [
        { type: "content_block_start", index, content_block },
        ...changes.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ];
      if ("text" in part) {
        const changes = deltas(part.text).map((text) => ({ type: "text_delta", text }));
        return block({ type: "text", text: "" }, changes);
      }
      if ("thinking" in part) {
        const { thinking, signature = `signed-${reply.number}-${index}` } = part;
        return block({ type: "thinking", thinking: "", signature: "" }, [
          ...deltas(thinking).map((delta) => ({ type: "thinking_delta", thinking: delta })),
          { type: "signature_delta", signature },
        ]);
      }
      const { id = callId(reply, index), name, input } = part.call;
      return block({ type: "tool_use", id, name, input: {} }, [
        { type: "input_json_delta", partial_json: inputText(input) },
      ]);
    });
    const usage = {
      input_tokens: input,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: cacheWrite,
      output_tokens: 1,
    };
    const message = { id: `msg_${reply.number}`, type: "message", role: "assistant" };
    return {
      content: [
        {
          type: "message_start",
          message: { ...message, model: "claude", content: [], stop_reason: null, usage },
        },
        ...content,
      ],
      end: [
        {
          type: "message_delta",
          delta: {
            stop_reason: reply.finish ?? (isCalling(reply) ? "tool_use" : "end_turn"),
            stop_sequence: null,
          },
          usage: { output_tokens: output },
        },
        { type: "message_stop" },
      ],
    };
  },
  "openai-chat": (reply) => {
    const { input, cacheRead = 0, cacheWrite = 0, output } = reply.bill;
    const chunk = {
      id: `chatcmpl-${reply.number}`,
      object: "chat.completion.chunk",
      created: 1,
      model: "played",
    };
    const choice = (delta: object, finish_reason: string | null = null): object => ({
      ...chunk,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const calls = reply.parts.filter((part) => "call" in part);
    const prompt = input + cacheRead + cacheWrite;
    const usage = {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
      ...(reply.provider === "deepseek" && {
        prompt_cache_hit_tokens: cacheRead,
        prompt_cache_miss_tokens: input + cacheWrite,
      }),
    };
    return {
      content: [
        choice({ role: "assistant", content: "" }),
        ...reply.parts.flatMap((part): readonly object[] => {
          if ("text" in part) return deltas(part.text).map((content) => choice({ content }));
          if ("thinking" in part) {
            return deltas(part.thinking).map((delta) => choice(thought(reply.provider, delta)));
          }
          const index = calls.indexOf(part);
          const { id = callId(reply, index), name, input } = part.call;
          const call = { name, arguments: inputText(input) };
          return [choice({ tool_calls: [{ index, id, type: "function", function: call }] })];
        }),
      ],
      end: [
        ...billed(
          choice({}, reply.finish ?? (calls.length > 0 ? "tool_calls" : "stop")),
          { ...chunk, choices: [] },
          usage,
          reply.provider,
        ),
        "[DONE]",
      ],
    };
  },
  "openai-responses": (reply) => {
    const { input, cacheRead = 0, cacheWrite = 0, output } = reply.bill;
    const response = {
      id: `resp_${reply.number}`,
      object: "response",
      created_at: 1,
      model: "played",
    };
    const content = reply.parts.flatMap((part, output_index): readonly object[] => {
      const place = `${reply.number}_${output_index}`;
      const item = (
        before: object,
        changes: (item_id: string) => readonly object[],
        after: object,
      ): readonly object[] => {
        const kind = "text" in part ? "msg" : "thinking" in part ? "rs" : "fc";
        const id = `${kind}_${place}`;
        return [
          { type: "response.output_item.added", output_index, item: { id, ...before } },
          ...changes(id).map((change) => ({ item_id: id, output_index, ...change })),
          { type: "response.output_item.done", output_index, item: { id, ...before, ...after } },
        ];
      };
      if ("text" in part) {
        const said = { type: "output_text", text: deltas(part.text).join(""), annotations: [] };
        return item(
          { type: "message", role: "assistant", status: "in_progress", content: [] },
          () =>
            deltas(part.text).map((delta) => ({
              type: "response.output_text.delta",
              content_index: 0,
              delta,
            })),
          { status: "completed", content: [said] },
        );
      }
      if ("thinking" in part) {
        const encrypted_content = part.signature ?? `sealed-${place}`;
        const summary = [{ type: "summary_text", text: deltas(part.thinking).join("") }];
        return item(
          { type: "reasoning", summary: [], encrypted_content },
          () => [
            {
              type: "response.reasoning_summary_part.added",
              summary_index: 0,
              part: { type: "summary_text", text: "" },
            },
            ...deltas(part.thinking).map((delta) => ({
              type: "response.reasoning_summary_text.delta",
              summary_index: 0,
              delta,
            })),
          ],
          { summary },
        );
      }
      const { id: call_id = callId(reply, output_index), name, input } = part.call;
      const given = inputText(input);
      return item(
        { type: "function_call", call_id, name, arguments: "", status: "in_progress" },
        () => [{ type: "response.function_call_arguments.delta", delta: given }],
        { arguments: given, status: "completed" },
      );
    });
    const prompt = input + cacheRead + cacheWrite;
    const usage = {
      input_tokens: prompt,
      input_tokens_details: { cached_tokens: cacheRead },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: prompt + output,
    };
    const isWhole = reply.finish === undefined || reply.finish === "completed";
    return {
      content: [
        { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
        ...content,
      ],
      end: [
        isWhole
          ? {
              type: "response.completed",
              response: { ...response, status: "completed", output: [], usage },
            }
          : {
              type: "response.incomplete",
              response: {
                ...response,
                status: "incomplete",
                incomplete_details: { reason: reply.finish },
                output: [],
                usage,
              },
            },
      ],
    };
  },
  google: (reply) => {
    const { input, cacheRead = 0, cacheWrite = 0, output } = reply.bill;
    const first = reply.parts.find((part) => "call" in part);
    const chunk = (parts: readonly object[], more: object = {}): object => ({
      candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
      modelVersion: "played",
      responseId: `reply-${reply.number}`,
    });
    const signed = (signature: string | undefined): object =>
      signature === undefined ? {} : { thoughtSignature: signature };
    const content = reply.parts.flatMap((part): readonly object[] => {
      if ("text" in part) return deltas(part.text).map((text) => chunk([{ text }]));
      if ("thinking" in part) {
        return deltas(part.thinking).map((text) =>
          chunk([{ text, thought: true, ...signed(part.signature) }]),
        );
      }
      const { id, name, input } = part.call;
      const own =
        part === first ? Buffer.from(`signed-${reply.number}`).toString("base64") : undefined;
      const functionCall = { ...(id === undefined ? {} : { id }), name, args: input ?? {} };
      return [chunk([{ functionCall, ...signed(part.signature ?? own) }])];
    });
    const promptTokenCount = input + cacheRead + cacheWrite;
    return {
      content,
      end: [
        {
          ...chunk([{ text: "" }], { finishReason: reply.finish ?? "STOP" }),
          usageMetadata: {
            promptTokenCount,
            cachedContentTokenCount: cacheRead,
            candidatesTokenCount: output,
            totalTokenCount: promptTokenCount + output,
          },
        },
      ],
    };
  },
  "amazon-bedrock": (reply) => {
    const { input, cacheRead = 0, cacheWrite = 0, output } = reply.bill;
    const content = reply.parts.flatMap((part, contentBlockIndex): readonly object[] => {
      const change = (delta: object): object => ({
        contentBlockDelta: { contentBlockIndex, delta },
      });
      const stop = { contentBlockStop: { contentBlockIndex } };
      if ("text" in part) return [...deltas(part.text).map((text) => change({ text })), stop];
      if ("thinking" in part) {
        const { thinking, signature = `signed-${reply.number}-${contentBlockIndex}` } = part;
        return [
          ...deltas(thinking).map((text) => change({ reasoningContent: { text } })),
          change({ reasoningContent: { signature } }),
          stop,
        ];
      }
      const { id: toolUseId = callId(reply, contentBlockIndex), name, input } = part.call;
      return [
        { contentBlockStart: { contentBlockIndex, start: { toolUse: { toolUseId, name } } } },
        change({ toolUse: { input: inputText(input) } }),
        stop,
      ];
    });
    const usage = {
      inputTokens: input,
      cacheReadInputTokens: cacheRead,
      cacheWriteInputTokens: cacheWrite,
      outputTokens: output,
      totalTokens: input + cacheRead + cacheWrite + output,
    };
    return {
      content: [{ messageStart: { role: "assistant" } }, ...content],
      end: [
        {
          messageStop: {
            stopReason: reply.finish ?? (isCalling(reply) ? "tool_use" : "end_turn"),
          },
        },
        { metadata: { usage } },
      ],
    };
  },
};

/** An error as this provider sends one in a stream that began well. */
export const streamedError: Record<ProviderFormat, object> = {
  anthropic: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  "openai-chat": { error: { message: "Upstream error", code: 502, type: "server_error" } },
  "openai-responses": {
    type: "error",
    sequence_number: 1,
    error: { type: "server_error", code: "server_error", message: "Upstream error", param: null },
  },
  google: { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } },
  "amazon-bedrock": { internalServerException: { message: "Upstream error" } },
};
