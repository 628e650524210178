// A tiny answer in each provider's format, served after the recorded stream so that a second step
// completes. Ours, not recorded.
import type { WireFormat } from "./wire-manifest.ts";
import { frame } from "./wire-stream.ts";

/** The text of the second answer. */
export const finalText = "That is all.";

/** The stream that answers every request after the first. */
export function finalAnswer(format: WireFormat): Uint8Array {
  return frame(
    format,
    chunks[format].map((chunk) => JSON.stringify(chunk)),
  );
}

const [opening, ending] = ["That is", " all."] satisfies [string, string];

const message = { type: "message", id: "msg_final", role: "assistant" };
const choice = (delta: object, finish: "stop" | null) => ({
  id: "chatcmpl-final",
  object: "chat.completion.chunk",
  created: 1,
  model: "final",
  choices: [{ index: 0, delta, finish_reason: finish }],
});

const completion = (text: string, finish: "stop" | null) => ({
  id: "cmpl-final",
  object: "text_completion",
  created: 1,
  model: "final",
  choices: [{ index: 0, text, finish_reason: finish }],
});
const interaction = { id: "interaction-final", object: "interaction", model: "final" };

const chunks: Record<WireFormat, readonly object[]> = {
  "openai-responses": [
    { type: "response.created", response: { id: "resp_final", created_at: 1, model: "final" } },
    { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
    ...[opening, ending].map((delta) => ({
      type: "response.output_text.delta",
      item_id: message.id,
      output_index: 0,
      content_index: 0,
      delta,
    })),
    {
      type: "response.output_item.done",
      output_index: 0,
      item: {
        ...message,
        content: [{ type: "output_text", text: finalText, annotations: [] }],
      },
    },
    {
      type: "response.completed",
      response: { id: "resp_final", usage: { input_tokens: 20, output_tokens: 4 } },
    },
  ],
  "openai-chat": [
    choice({ role: "assistant", content: opening }, null),
    choice({ content: ending }, null),
    {
      ...choice({}, "stop"),
      usage: { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 },
    },
  ],
  "openai-completion": [
    completion(opening, null),
    completion(ending, null),
    {
      ...completion("", "stop"),
      usage: { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 },
    },
  ],
  google: [
    { candidates: [{ content: { role: "model", parts: [{ text: opening }] } }] },
    {
      candidates: [{ content: { role: "model", parts: [{ text: ending }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 4, totalTokenCount: 24 },
    },
  ],
  "google-interactions": [
    { event_type: "interaction.created", interaction: { ...interaction, status: "in_progress" } },
    { event_type: "step.start", index: 0, step: { type: "model_output" } },
    ...[opening, ending].map((text) => ({
      event_type: "step.delta",
      index: 0,
      delta: { type: "text", text },
    })),
    { event_type: "step.stop", index: 0 },
    {
      event_type: "interaction.completed",
      interaction: {
        ...interaction,
        status: "completed",
        usage: { total_input_tokens: 20, total_output_tokens: 4, total_tokens: 24 },
      },
    },
  ],
  anthropic: [
    {
      type: "message_start",
      message: {
        ...message,
        model: "final",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 20, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...[opening, ending].map((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text },
    })),
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 4 },
    },
    { type: "message_stop" },
  ],
  "amazon-bedrock": [
    { messageStart: { role: "assistant" } },
    ...[opening, ending].map((text) => ({
      contentBlockDelta: { contentBlockIndex: 0, delta: { text } },
    })),
    { contentBlockStop: { contentBlockIndex: 0 } },
    { messageStop: { stopReason: "end_turn" } },
    { metadata: { usage: { inputTokens: 20, outputTokens: 4, totalTokens: 24 } } },
  ],
  cohere: [
    { type: "message-start", id: "final" },
    {
      type: "content-start",
      index: 0,
      delta: { message: { content: { type: "text", text: "" } } },
    },
    ...[opening, ending].map((text) => ({
      type: "content-delta",
      index: 0,
      delta: { message: { content: { text } } },
    })),
    { type: "content-end", index: 0 },
    {
      type: "message-end",
      delta: {
        finish_reason: "COMPLETE",
        usage: { tokens: { input_tokens: 20, output_tokens: 4 } },
      },
    },
  ],
};
