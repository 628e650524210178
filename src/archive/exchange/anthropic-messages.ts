/** Anthropic's messages. Pure. */

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
  words,
  wordsOf,
  type Adapted,
  type Block,
  type Format,
  type Part,
} from "./adapted-message.ts";

const source = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal("url"), url: z.string() }),
  z.looseObject({ type: z.literal("file"), file_id: z.string() }),
  z.looseObject({ type: z.literal("text"), data: z.string() }),
  z.looseObject({ type: z.literal("content"), content: contentOf({ text: words }) }),
]);

function sourced(
  from: z.output<typeof source>,
  mediaType: string,
  title?: string | null,
): readonly Part[] | Block {
  switch (from.type) {
    case "base64":
      return file(from.data, from.media_type, title);
    case "url":
      return linked(from.url, mediaType, title);
    case "file":
      return file({ type: "reference", reference: { anthropic: from.file_id } }, mediaType, title);
    case "text":
      return file({ type: "text", text: from.data }, "text/plain", title);
    case "content": {
      const { parts, dropped } = from.content;
      return { parts: file({ type: "text", text: wordsOf(parts) }, "text/plain", title), dropped };
    }
  }
}

const image = block({ source }, (of) => sourced(of.source, "image/*"));
const document = block({ source, title: optional }, (of) =>
  sourced(of.source, "application/pdf", of.title),
);

const called = { id: z.string(), name: z.string(), input: z.unknown() };

/** A tool that the provider ran. To the AI SDK, the tools inside of code execution are inputs of that. */
const server = block(called, ({ id: toolCallId, name, input }) => {
  const isInner = name.endsWith("_code_execution");
  const given = isInner ? { type: name, ...z.looseObject({}).parse(input) } : input;
  const toolName = isInner ? "code_execution" : name;
  return [{ type: "tool-call", toolCallId, toolName, input: given, providerExecuted: true }];
});

const isFailure = z.looseObject({ type: z.string().regex(/_error$/) });
const references = z.looseObject({ tool_references: z.json() });

/** The answer of such a tool, in the form of the AI SDK. */
function served(form: "sdk" | "wire" | "code"): z.ZodType<Block> {
  return block({ tool_use_id: z.string(), content: z.json() }, (of) => {
    const { content } = of;
    const isError = form !== "wire" && isFailure.safeParse(content).success;
    const found = references.safeParse(content);
    const value = found.success ? found.data.tool_references : content;
    const type = isError ? ("error-json" as const) : ("json" as const);
    const output = { type, value: isError || form === "sdk" ? camelCased(value) : value };
    return [{ type: "tool-result", toolCallId: of.tool_use_id, toolName: "", output }];
  });
}

type Json = z.output<ReturnType<typeof z.json>>;

function camelCased(value: Json): Json {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== "object" || value === null) return value;
  const renamed = (key: string): string =>
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const entries = Object.entries(value).map(([key, inner]) => [renamed(key), camelCased(inner)]);
  return z.json().parse(Object.fromEntries(entries));
}

const shown = { text: words, image, document };

const content = contentOf({
  ...shown,
  thinking: block({ thinking: z.string(), signature: optional }, ({ thinking, signature }) => {
    const signed = typeof signature === "string" ? { anthropic: { signature } } : undefined;
    const options = signed === undefined ? {} : { providerOptions: signed };
    return [{ type: "reasoning", text: thinking, ...options }];
  }),
  redacted_thinking: block({ data: z.string() }, ({ data: redactedData }) => [
    { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData } } },
  ]),
  tool_use: block(called, ({ id, name, input }) => [
    { type: "tool-call", toolCallId: id, toolName: name, input },
  ]),
  tool_result: block(
    {
      tool_use_id: z.string(),
      content: contentOf(shown).optional(),
      is_error: z.boolean().nullish(),
    },
    (of) => result(of.tool_use_id, of.content ?? nothing, of.is_error === true),
  ),
  server_tool_use: server,
  web_search_tool_result: served("sdk"),
  web_fetch_tool_result: served("sdk"),
  tool_search_tool_result: served("sdk"),
  code_execution_tool_result: served("code"),
  bash_code_execution_tool_result: served("wire"),
  text_editor_code_execution_tool_result: served("wire"),
});

const of = (role: Adapted["role"]): z.ZodType<Adapted> =>
  said(role, { content }, (fields) => fields.content);

const usage = z
  .looseObject({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  })
  .transform((tokens) => ({
    inputTokens: undefined,
    inputTokenDetails: {
      noCacheTokens: tokens.input_tokens,
      cacheReadTokens: tokens.cache_read_input_tokens,
      cacheWriteTokens: tokens.cache_creation_input_tokens,
    },
    outputTokens: tokens.output_tokens,
    outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
    totalTokens: undefined,
  }));

export const anthropic: Format = {
  kind: "anthropic",
  provider: "anthropic.messages",
  message: byKind(
    { user: of("user"), assistant: of("assistant"), system: of("system") },
    () => undefined,
  ),
  usage,
};
