/** What a provider blames for a refused request, by its own words. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { providerFailure } from "../../src/runtime/model/provider-failure.ts";
import { refusalCause } from "../../src/runtime/model/refusal-cause.ts";
import { corpusFolder } from "../corpus/wire-manifest.ts";

function causeOf(message: string, statusCode = 400, responseBody?: string): string | undefined {
  const error = {
    name: "AI_APICallError",
    message,
    statusCode,
    ...(responseBody === undefined ? {} : { responseBody }),
  };
  return refusalCause(error, providerFailure(error, 0).kind);
}

/** Wordings of APIs and of public reports. */
const wordings: Readonly<Record<"media" | "history" | "setup" | "unclear", readonly string[]>> = {
  media: [
    "messages.2.content.1.image.source.base64.data: Could not process image",
    "Could not process image",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "messages.4.content.0.tool_result.content.1.image.source.base64: invalid base64 data",
    "messages.1.content.2.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    "Image does not match the provided media type image/png",
    "At least one of the image dimensions exceed max allowed size: 8000 pixels",
    "messages.0.content.1.document.source.base64.data: The PDF specified is password protected.",
    "The PDF specified was not valid.",
    "A maximum of 100 PDF pages may be provided.",
    "Unable to download the file. Please verify the URL and try again.",
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
    "Invalid base64 image_url.",
    "Invalid 'messages[1].content[1].image_url.url'. Expected a base64-encoded data URL with an image MIME type",
    "Invalid image data",
    "Failed to download image from https://example.com/a.png",
    "Timeout while downloading https://example.com/a.png",
    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    "Unsupported MIME type: image/heic",
    "The document has no pages.",
    "No endpoints found that support image input",
    "Image input modality is not enabled for models/gemma-3-1b-it",
    "This model does not support image inputs",
    "Failed to deserialize the JSON body into the target type: messages[2]: unknown variant `image_url`, expected `text` at line 1 column 2211",
    "The model returned the following errors: messages.2.content.2.document.source.type: Field required",
    "File file_011CNha8iCJcU1wXNR6q4V8w not found",
  ],
  history: [
    "messages.0: Input does not match the expected shape.",
    "messages.2.content.1.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block. To avoid this requirement, disable `thinking`.",
    "messages.1.content.0.thinking: Field required",
    "messages: text content blocks must be non-empty",
    "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.",
    "The request body is not valid JSON: no low surrogate in string: line 1 column 195621 (char 195620)",
    "This model does not support assistant message prefill. The conversation must end with a user message.",
    "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern.",
    "Invalid 'input[3].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    "Item 'rs_68c4' of type 'reasoning' was provided without its required following item.",
    "Item with id 'msg_68c4' not found. Items are not persisted when `store` is set to false.",
    "No tool output found for function call call_1.",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "The encrypted content gAAAA could not be verified.",
    "We could not parse the JSON body of your request.",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    "Please use a valid role: user, model.",
    "GenerateContentRequest.contents[2].parts[0].function_response.name: [FIELD_INVALID] Name cannot be empty.",
    "Function name was browser.tabs.open but must be a-z, A-Z, 0-9, or contain underscores and dashes.",
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    "Missing `reasoning_content` field in the assistant message at message index 4.",
    "lone leading surrogate in hex escape at line 1 column 40",
    "Each message must have at least one content element.",
    "The text field in the ContentBlock object at messages.0.content.0 is blank.",
    "Malformed input request: #/messages/2/content/0: extraneous key [toolResult] is not permitted",
    "'messages.3' : for 'role:assistant' the following must be satisfied[('messages.3.content' : value must be a string)]",
  ],
  setup: [
    "The requested model 'gpt-5.2-proo' does not exist.",
    "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    "Invalid 'tools[0].function.name': string does not match pattern.",
    "Invalid schema for function 'look': In context=(), object schema missing properties.",
    "GenerateContentRequest.tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid function name.",
    "max_tokens: 999999 > 64000, which is the maximum allowed number of output tokens",
    "`max_tokens` must be greater than `thinking.budget_tokens`.",
    "thinking.budget_tokens: Input should be greater than or equal to 1024",
    "system: text content blocks must be non-empty",
    "temperature: range: 0..1",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    "Unrecognized request argument supplied: thinking",
    "Web search options not supported with this model.",
    "Your credit balance is too low to access the Anthropic API.",
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    "Tool choice is required, but model did not call a tool",
    "tool_use_failed: Failed to call a function. Please adjust your prompt.",
    "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation.",
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    "Thinking may not be enabled when tool_choice forces tool use.",
    "output_format: Extra inputs are not permitted",
    "messages.0.content.0.cache_control: Extra inputs are not permitted",
    "output_config.effort: Input should be 'low', 'medium' or 'high'",
    "Unexpected value(s) `x` for the `anthropic-beta` header.",
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    "This organization has been disabled.",
    "Budget 0 is invalid. This model only works in thinking mode.",
    "The thinking budget 100 is invalid. Please choose a value between 512 and 24576.",
    "Function calling with a response mime type: 'application/json' is unsupported",
    "User location is not supported for the API use.",
    "Developer instruction is not enabled for models/gemma-3-1b-it",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "Argument not supported on this model: reasoningEffort",
    "registry.ollama.ai/library/gemma:2b does not support tools",
    "Budget has been exceeded! Current cost: 10, Max budget: 9",
  ],
  unclear: [
    "Request contains an invalid argument.",
    "Invalid request.",
    "Bad Request",
    "Provider returned error",
  ],
};

const cases = Object.entries(wordings).flatMap(([cause, all]) =>
  all.map((words) => [cause, words] as const),
);

describe("a refused request", () => {
  it.each(cases)("is blamed on %s by: %s", (cause, words) => {
    expect(causeOf(words)).toBe(cause);
    expect(causeOf("Bad Request", 400, JSON.stringify({ error: { message: words } }))).toBe(cause);
    // A gateway repeats the provider's answer.
    const raw = JSON.stringify({ type: "error", error: { message: words } });
    const answer = { error: { message: "Provider returned error", metadata: { raw } } };
    expect(causeOf("Provider returned error", 400, JSON.stringify(answer))).toBe(cause);
  });

  it("is not blamed on what its answer repeats of the request", () => {
    const detail = [
      { loc: ["body", "temperature"], msg: "too high", input: { messages: ["image"] } },
    ];
    expect(causeOf("Unprocessable Entity", 422, JSON.stringify({ detail }))).toBe("setup");
    const place = [
      { loc: ["body", "messages", 2, "content"], msg: "Field required", input: "image" },
    ];
    expect(causeOf("Unprocessable Entity", 422, JSON.stringify({ detail: place }))).toBe("history");
  });

  it("is blamed on a file that the AI SDK cannot send", () => {
    const error = {
      name: "AI_UnsupportedFunctionalityError",
      message: "'file part media type video/mp4' functionality not supported.",
    };
    expect(refusalCause(error, providerFailure(error, 0).kind)).toBe("media");
  });

  it("with a status that speaks of an address is blamed on the setup, unless its words say more", () => {
    expect(causeOf("404 page not found", 404)).toBe("setup");
    expect(causeOf("Method Not Allowed", 405)).toBe("setup");
    expect(causeOf("No endpoints found that support image input", 404)).toBe("media");
    expect(causeOf("Item with id 'msg_68c4' not found.", 404)).toBe("history");
  });

  it.each([401, 402, 403, 429, 500, 503, 529])("with status %i is no refusal", (status) => {
    expect(causeOf("messages.0: something about an image", status)).toBeUndefined();
  });
});

const recorded = join(corpusFolder, "errors/errors.jsonl");
const row = z.object({ family: z.string(), status: z.number(), body: z.string() });

/** In the order of the file. */
const expected = [
  ["openai-responses", "setup"],
  ["amazon-bedrock", "setup"],
  ["groq", "setup"],
  ["anthropic", "setup"],
  ["groq", "setup"],
  ["groq", "setup"],
  ["openai-chat", "media"],
  ["amazon-bedrock", "history"],
  ["openai-responses", "media"],
  ["amazon-bedrock", "media"],
  ["openai-chat", "setup"],
  ["openai-chat", "setup"],
  ["openai-responses", "history"],
  ["anthropic", "history"],
  ["amazon-bedrock", "authentication"],
  ["openai-chat", "authentication"],
  ["openai-responses", "authentication"],
  ["openai-chat", "setup"],
  ["openai-chat", "setup"],
  ["google", "history"],
  ["google", "setup"],
  ["openai-chat", "authentication"],
  ["openai-chat", "media"],
  ["openai-chat", "authentication"],
  ["cohere", "authentication"],
  ["google", "setup"],
  ["compat-ollama-com", "authentication"],
  ["openrouter", "authentication"],
  ["api-x-ai-responses", "setup"],
  ["openai-chat", "rate-limit"],
  ["cohere", "context-overflow"],
  ["google", "rate-limit"],
  ["openai-responses", "context-overflow"],
  ["perplexity", "context-overflow"],
  ["openai-responses", "authentication"],
  ["anthropic", "authentication"],
  ["anthropic", "authentication"],
] as const;

/** A wrong key is authentication, or the setup where its status is that of a refused request. */
const isSame = (found: string, wanted: string): boolean =>
  found === wanted || (found === "authentication" && wanted === "setup");

it.skipIf(!existsSync(recorded))(
  "each of 37 recorded error answers is understood (the corpus is needed)",
  () => {
    const found = readFileSync(recorded, "utf8")
      .trim()
      .split("\n")
      .map((line) => {
        const { family, status, body } = row.parse(JSON.parse(line));
        const error = {
          name: "AI_APICallError",
          message: "Bad Request",
          statusCode: status,
          responseBody: body,
        };
        const { kind } = providerFailure(error, 0);
        return [family, refusalCause(error, kind) ?? kind] as const;
      });
    expect(found).toHaveLength(expected.length);
    expect(found.filter(([, cause], index) => !isSame(cause, expected[index]?.[1] ?? ""))).toEqual(
      [],
    );
  },
);
