/** OpenAI's messages, of chat completions and of the Responses API, which may be mixed. Pure. */

import { jsonOrText } from "../../events/index.ts";
import { z } from "zod";
import {
  block,
  byKind,
  contentOf,
  count,
  file,
  linked,
  nothing,
  optional,
  result,
  said,
  text,
  words,
  together,
  type Adapted,
  type Block,
  type Format,
  type Part,
} from "./adapted-message.ts";

const uploaded = (id: string, mediaType: string, filename?: string | null): readonly Part[] =>
  file({ type: "reference", reference: { openai: id } }, mediaType, filename);

interface FileFields {
  readonly file_data?: string | null | undefined;
  readonly file_url?: string | null | undefined;
  readonly file_id?: string | null | undefined;
  readonly filename?: string | null | undefined;
}
const fileShape = {
  file_data: optional,
  file_url: optional,
  file_id: optional,
  filename: optional,
};
function fileOf(of: FileFields): readonly Part[] | Block {
  const url = of.file_data ?? of.file_url;
  if (typeof url === "string") return linked(url, "application/pdf", of.filename);
  if (typeof of.file_id === "string") return uploaded(of.file_id, "application/pdf", of.filename);
  return { parts: [], dropped: ["file"] };
}

const address = z.preprocess(
  (given) => (typeof given === "string" ? { url: given } : given),
  z.looseObject({ url: z.string() }),
);

const content = contentOf({
  text: words,
  input_text: words,
  output_text: words,
  refusal: block({ refusal: z.string() }, (of) => text(of.refusal)),
  image_url: block({ image_url: address }, (of) => linked(of.image_url.url, "image/*")),
  input_image: block({ image_url: optional, file_id: optional }, ({ image_url, file_id }) => {
    if (typeof image_url === "string") return linked(image_url, "image/*");
    if (typeof file_id === "string") return uploaded(file_id, "image/*");
    return { parts: [], dropped: ["input_image"] };
  }),
  input_audio: block(
    { input_audio: z.looseObject({ data: z.string(), format: z.string() }) },
    ({ input_audio: { data, format } }) =>
      file(data, `audio/${format === "mp3" ? "mpeg" : format}`),
  ),
  file: block({ file: z.looseObject(fileShape) }, (of) => fileOf(of.file)),
  input_file: block(fileShape, fileOf),
});

/** The input of a call: the JSON that it is, or the text that the model wrote instead. */
const input = z.union([z.string(), z.record(z.string(), z.unknown())]).transform((given) => {
  if (typeof given !== "string") return given;
  return given === "" ? {} : jsonOrText(given);
});
const named = z.looseObject({ name: z.string(), arguments: input });

/** `id`: empty for the calls of old, which had none. */
function call(toolCallId: string, toolName: string, given: unknown): Part {
  return { type: "tool-call", toolCallId, toolName, input: given };
}

const custom = z.looseObject({ name: z.string(), input: z.string() });
const toolCall = block(
  { id: z.string(), function: named.nullish(), custom: custom.nullish() },
  (of) => {
    if (of.function) return [call(of.id, of.function.name, of.function.arguments)];
    return of.custom ? [call(of.id, of.custom.name, of.custom.input)] : [];
  },
);

function thought(words: string | null | undefined): readonly Part[] {
  return words === null || words === undefined || words === ""
    ? []
    : [{ type: "reasoning", text: words }];
}

const system = said("system", { content }, (of) => of.content);
const called = (of: { readonly call_id: string; readonly output: Block }): Block =>
  result(of.call_id, of.output);
const answer = said("user", { call_id: z.string(), output: content }, called);
const summary = z.array(z.looseObject({ text: z.string() })).nullish();

const message: z.ZodType<Adapted> = byKind<Adapted>(
  {
    system,
    developer: system,
    user: said("user", { content }, (of) => of.content),
    assistant: said(
      "assistant",
      {
        content: content.nullish(),
        refusal: optional,
        // Of compatible providers.
        reasoning_content: optional,
        reasoning: optional,
        tool_calls: z.array(toolCall).nullish(),
        function_call: named.nullish(),
      },
      (of) =>
        together([
          { parts: thought(of.reasoning_content ?? of.reasoning), dropped: [] },
          of.content ?? nothing,
          { parts: text(of.refusal), dropped: [] },
          ...(of.tool_calls ?? []),
          {
            parts: of.function_call
              ? [call("", of.function_call.name, of.function_call.arguments)]
              : [],
            dropped: [],
          },
        ]),
    ),
    tool: said("user", { tool_call_id: z.string(), content }, (of) =>
      result(of.tool_call_id, of.content),
    ),
    function: said("user", { name: z.string(), content }, (of) => {
      const { parts, dropped } = result("", of.content);
      const own = parts.map((part) =>
        part.type === "tool-result" ? { ...part, toolName: of.name } : part,
      );
      return { parts: own, dropped };
    }),
    function_call: said(
      "assistant",
      { call_id: z.string(), name: z.string(), arguments: input },
      (of) => [call(of.call_id, of.name, of.arguments)],
    ),
    custom_tool_call: said(
      "assistant",
      { call_id: z.string(), name: z.string(), input: z.string() },
      (of) => [call(of.call_id, of.name, of.input)],
    ),
    function_call_output: answer,
    custom_tool_call_output: answer,
    reasoning: said("assistant", { summary, content: summary }, (of) =>
      thought([...(of.summary ?? []), ...(of.content ?? [])].map((one) => one.text).join("\n\n")),
    ),
  },
  (kind, field) =>
    field === "role" ? undefined : { role: "assistant", parts: [], dropped: [kind] },
);

const cached = z.looseObject({ cached_tokens: count }).nullish();
const reasoned = z.looseObject({ reasoning_tokens: count }).nullish();
const usage = z
  .looseObject({
    prompt_tokens: count,
    completion_tokens: count,
    prompt_tokens_details: cached,
    completion_tokens_details: reasoned,
    input_tokens: count,
    output_tokens: count,
    input_tokens_details: cached,
    output_tokens_details: reasoned,
  })
  .transform((of) => ({
    inputTokens: of.prompt_tokens ?? of.input_tokens,
    inputTokenDetails: {
      noCacheTokens: undefined,
      cacheReadTokens: (of.prompt_tokens_details ?? of.input_tokens_details)?.cached_tokens,
      cacheWriteTokens: undefined,
    },
    outputTokens: of.completion_tokens ?? of.output_tokens,
    outputTokenDetails: {
      textTokens: undefined,
      reasoningTokens: (of.completion_tokens_details ?? of.output_tokens_details)?.reasoning_tokens,
    },
    totalTokens: undefined,
  }));

export const openai: Format = { kind: "openai", provider: "openai.chat", message, usage };
