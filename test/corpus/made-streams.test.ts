// What a provider needs back, of the kinds of which no good stream was recorded: streams of ours in the formats
// of the providers, for the real clients. The next request is the SDK's own, and has what was sent in it.
import { describe, expect, it } from "vitest";
import { png } from "../support/media.ts";
import { ourRequests, sdkRequests } from "./second-requests.ts";
import { formatOf, type WireFamily } from "./wire-manifest.ts";
import { frame } from "./wire-stream.ts";

interface MadeStream {
  readonly what: string;
  readonly family: WireFamily;
  readonly url: string;
  readonly tools?: readonly string[];
  readonly chunks: readonly object[];
  /** What has to be in the next request: parts of its JSON. */
  readonly back: readonly object[];
  readonly openai?: Readonly<Record<string, string>>;
}

const openAi = { family: "openai-responses", url: "/v1/responses" } as const;
const openAiStarted = {
  type: "response.created",
  response: { id: "resp_1", created_at: 1, model: "made" },
};
const openAiCompleted = {
  type: "response.completed",
  response: { id: "resp_1", usage: { input_tokens: 9, output_tokens: 9 } },
};
const refusal = "I cannot help with that.";
const refused = {
  id: "msg_refused",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "refusal", refusal }],
};
const refusalChunks = [
  openAiStarted,
  { type: "response.output_item.added", output_index: 0, item: { ...refused, content: [] } },
  {
    type: "response.refusal.delta",
    item_id: refused.id,
    output_index: 0,
    content_index: 0,
    delta: refusal,
  },
  {
    type: "response.refusal.done",
    item_id: refused.id,
    output_index: 0,
    content_index: 0,
    refusal,
  },
  { type: "response.output_item.done", output_index: 0, item: refused },
  openAiCompleted,
];

const wrapped = JSON.stringify({
  tool_uses: [
    { recipient_name: "functions.tides", parameters: { port: "Brest" } },
    { recipient_name: "functions.winds", parameters: { port: "Brest" } },
  ],
});
const wrapper = {
  type: "function_call",
  id: "fc_wrapper",
  call_id: "call_wrapper",
  name: "parallel",
  arguments: wrapped,
  status: "completed",
};
const wrapperChunks = [
  openAiStarted,
  { type: "response.output_item.added", output_index: 0, item: { ...wrapper, arguments: "" } },
  {
    type: "response.function_call_arguments.done",
    item_id: wrapper.id,
    output_index: 0,
    arguments: wrapped,
  },
  { type: "response.output_item.done", output_index: 0, item: wrapper },
  openAiCompleted,
];

const redacted = { type: "redacted_thinking", data: "EmwKAhgBEgy3va3p/7xQ+made==" };

/** Large enough to be kept beside the log. */
const picture = png({ width: 200, height: 200, seed: 1 }).toString("base64");
const image = { mimeType: "image/png", data: picture };
const gemini = (part: object) => ({ candidates: [{ content: { role: "model", parts: [part] } }] });

const made: readonly MadeStream[] = [
  {
    what: "Anthropic's redacted thinking",
    family: "anthropic",
    url: "/v1/messages",
    chunks: [
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "made",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 9, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: redacted },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Done." } },
      { type: "content_block_stop", index: 1 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 9 },
      },
      { type: "message_stop" },
    ],
    back: [redacted],
  },
  {
    what: "files that Gemini has generated, also in its thoughts, with their signatures",
    family: "google",
    url: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    chunks: [
      gemini({ inlineData: image, thought: true, thoughtSignature: "c2lnbmVkIHNrZXRjaA==" }),
      gemini({ text: "Here it is:" }),
      gemini({ inlineData: image, thoughtSignature: "c2lnbmVkIGltYWdl" }),
      {
        candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 9, totalTokenCount: 18 },
      },
    ],
    back: [
      { inlineData: image, thought: true, thoughtSignature: "c2lnbmVkIHNrZXRjaA==" },
      { inlineData: image, thoughtSignature: "c2lnbmVkIGltYWdl" },
    ],
  },
  {
    what: "a refusal of OpenAI, in its words: the client takes no id with it",
    ...openAi,
    chunks: refusalChunks,
    back: [{ role: "assistant", content: refusal }],
  },
  {
    what: "a refusal in an OpenAI chat",
    family: "openai-chat",
    url: "/v1/chat/completions",
    chunks: [{ role: "assistant", content: null, refusal }, {}].map((delta, index) => ({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "made",
      choices: [{ index: 0, delta, finish_reason: index === 0 ? null : "stop" }],
    })),
    back: [{ role: "assistant", content: refusal }],
  },
  {
    what: "the call that OpenAI has wrapped several calls in, answered as one where OpenAI keeps what was said",
    ...openAi,
    openai: { previousResponseId: "resp_1" },
    tools: ["tides", "winds"],
    chunks: wrapperChunks,
    back: [
      {
        type: "function_call",
        call_id: wrapper.call_id,
        name: wrapper.name,
        arguments: wrapper.arguments,
      },
      { type: "function_call_output", call_id: wrapper.call_id },
    ],
  },
];

describe("the request after a stream of a kind that was not recorded", () => {
  for (const { what, family, url, tools = [], chunks, back, openai } of made) {
    it(`is the SDK's own, and has what was sent: ${what}`, async () => {
      const stream = frame(
        formatOf({ family, url }),
        chunks.map((chunk) => JSON.stringify(chunk)),
      );
      const conversation = {
        row: { family, file: "made", url, tools },
        streams: [stream],
        ...(openai === undefined ? {} : { providerOptions: { openai } }),
      };
      const expected = await sdkRequests(conversation);
      expect(expected.length).toBe(2);
      const sent = await ourRequests(conversation);
      expect(sent).toEqual(expected);
      for (const part of back)
        expect(objectsIn(sent[1])).toContainEqual(expect.objectContaining(part));
    });
  }
});

/** Every object in a body, at whatever depth. */
function objectsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}
