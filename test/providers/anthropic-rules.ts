/** What Anthropic's Messages API refuses. */

import { z } from "zod";
import { isObject, isWhole, repeated, rulebook, stringsIn, typeOfData, type Rule } from "./rule.ts";

const cacheControl = z.looseObject({ type: z.string(), ttl: z.string().optional() }).nullish();
const source = z.looseObject({
  type: z.string(),
  media_type: z.string().optional(),
  data: z.string().optional(),
});
const innerBlock = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  source: source.optional(),
  cache_control: cacheControl,
});
const block = innerBlock.extend({
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  signature: z.string().optional(),
  content: z.unknown().optional(),
});
type Block = z.infer<typeof block>;
type InnerBlock = z.infer<typeof innerBlock>;

const text = z.string().transform((words): Block[] => [{ type: "text", text: words }]);
const inner = z.array(innerBlock);

const anthropicBody = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.union([text, z.array(block)]) })),
  system: z.union([text, z.array(block)]).optional(),
  tools: z
    .array(
      z.looseObject({
        type: z.string().nullish(),
        name: z.string(),
        input_schema: z.record(z.string(), z.unknown()).optional(),
        cache_control: cacheControl,
      }),
    )
    .optional(),
  thinking: z.looseObject({ type: z.string() }).optional(),
});
type Body = z.infer<typeof anthropicBody>;

interface Placed<Of> {
  readonly at: string;
  readonly block: Of;
}

function blocksOf({ messages }: Body): readonly (Placed<Block> & { message: number })[] {
  return messages.flatMap(({ content }, message) =>
    content.map((block, index) => ({ at: `messages.${message}.content.${index}`, block, message })),
  );
}

/** The blocks of messages and those in the results of tools. */
function allBlocks(body: Body): readonly Placed<InnerBlock>[] {
  return blocksOf(body).flatMap(({ at, block }): readonly Placed<InnerBlock>[] => {
    const within = block.type === "tool_result" ? inner.safeParse(block.content).data : undefined;
    return [
      { at, block },
      ...(within ?? []).map((one, index) => ({
        at: `${at}.tool_result.content.${index}`,
        block: one,
      })),
    ];
  });
}

function usesIn(message: Body["messages"][number] | undefined): readonly string[] {
  return (message?.content ?? []).flatMap(({ type, id }) =>
    type === "tool_use" && id !== undefined ? [id] : [],
  );
}

function resultsIn(message: Body["messages"][number] | undefined): readonly string[] {
  if (message?.role !== "user") return [];
  return message.content.flatMap(({ type, tool_use_id: id }) =>
    type === "tool_result" && id !== undefined ? [id] : [],
  );
}

/** Whether a message has words of the user, and not only results. */
function speaks({ role, content }: Body["messages"][number]): boolean {
  return role === "user" && content.some(({ type }) => type !== "tool_result");
}

function customTools({ tools = [] }: Body) {
  return tools.flatMap((tool, index) =>
    tool.type === undefined || tool.type === null || tool.type === "custom"
      ? [{ tool, index, schema: tool.input_schema ?? {} }]
      : [],
  );
}

/** In the order in which the cache reads them. */
function marks(body: Body): readonly Placed<NonNullable<z.infer<typeof cacheControl>>>[] {
  const { tools = [], system = [] } = body;
  const places = [
    ...tools.map((tool, index) => ({ at: `tools.${index}`, block: tool })),
    ...system.map((block, index) => ({ at: `system.${index}`, block })),
    ...allBlocks(body),
  ];
  return places.flatMap(({ at, block: { cache_control: mark } }) =>
    mark === undefined || mark === null ? [] : [{ at, block: mark }],
  );
}

const isBlank = (words: string | undefined): boolean => words !== "" && words?.trim() === "";
const reference = "https://platform.claude.com/docs/en/api/messages";
const caching = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching";
const thinking = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking";
const toolUse = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use";
const vision = "https://platform.claude.com/docs/en/build-with-claude/vision";
const images = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

const rules: readonly Rule<Body>[] = [
  {
    id: "whole-characters",
    says: "No string has half a surrogate pair.",
    source: "https://github.com/anthropics/claude-code/issues/2108",
    words: "The request body is not valid JSON: no low surrogate in string: line 1 column {}",
    breaches: (body) =>
      [...stringsIn(body)].flatMap((string) =>
        string.isWellFormed() ? [] : [[JSON.stringify(string).search(/\\ud[89a-f]/) + 1]],
      ),
  },
  {
    id: "user-first",
    says: "The first message is the user's.",
    source: reference,
    words: 'messages: first message must use the "user" role, not {}',
    breaches: ({ messages }) =>
      messages[0]?.role === "user" ? [] : [[messages[0]?.role ?? "none"]],
  },
  {
    id: "input-last",
    says: "The last message is the user's, unless the model's own was paused in a tool of the provider.",
    source: "https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-6",
    words:
      "This model does not support assistant message prefill. The conversation must end with a user message, not with messages.{}.",
    breaches: ({ messages }) => {
      const last = messages.at(-1);
      const answered = last?.content.map(({ tool_use_id: id }) => id) ?? [];
      const isPaused = last?.content.some(
        ({ type, id }) => type === "server_tool_use" && !answered.includes(id),
      );
      return last?.role === "user" || isPaused === true ? [] : [[messages.length - 1]];
    },
  },
  {
    id: "content",
    says: "Each message has content.",
    source: reference,
    words:
      "messages.{}: all messages must have non-empty content except for the optional final assistant message",
    breaches: ({ messages }) =>
      messages.flatMap(({ content }, index) => (content.length === 0 ? [[index]] : [])),
  },
  {
    id: "text",
    says: "No text block is empty, in a message, a tool's result or the system prompt.",
    source: "https://github.com/anthropics/claude-code/issues/49171",
    words: "{}: text content blocks must be non-empty",
    breaches: (body) =>
      [...allBlocks(body), ...systemBlocks(body)].flatMap(({ at, block }) =>
        block.type === "text" && block.text === "" ? [[at]] : [],
      ),
  },
  {
    id: "text-of-letters",
    says: "No text block is white space alone.",
    source: "https://github.com/home-assistant/core/issues/175637",
    words: "{}: text content blocks must contain non-whitespace text",
    breaches: (body) =>
      [...allBlocks(body), ...systemBlocks(body)].flatMap(({ at, block }) =>
        block.type === "text" && isBlank(block.text) ? [[at]] : [],
      ),
  },
  {
    id: "call-id",
    says: "The id of a call is of letters, digits, underscores and dashes.",
    source: "https://github.com/farion1231/cc-switch/issues/1181",
    words: "{}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    breaches: (body) =>
      blocksOf(body).flatMap(({ at, block }) =>
        block.type === "tool_use" && !/^[a-zA-Z0-9_-]+$/.test(block.id ?? "") ? [[at]] : [],
      ),
  },
  {
    id: "unique-calls",
    says: "No two calls have one id.",
    source: "https://github.com/anomalyco/opencode/issues/1279",
    words: "{}: `tool_use` ids must be unique",
    breaches: (body) =>
      repeated(blocksOf(body), ({ block }) =>
        block.type === "tool_use" || block.type === "server_tool_use" ? block.id : undefined,
      ).map(({ at }) => [at]),
  },
  {
    id: "called-name",
    says: "The name of a called tool, in the history too, has at most 128 letters, digits, underscores and dashes.",
    source: reference,
    words: "{}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    breaches: (body) =>
      blocksOf(body).flatMap(({ at, block }) =>
        block.type === "tool_use" && !NAME.test(block.name ?? "") ? [[at]] : [],
      ),
  },
  {
    id: "call-input",
    says: "The input of a call is an object.",
    source: "https://github.com/anthropics/claude-code/issues/6696",
    words: "{}.tool_use.input: Input should be a valid dictionary",
    breaches: (body) =>
      blocksOf(body).flatMap(({ at, block }) =>
        block.type === "tool_use" && !isObject(block.input) ? [[at]] : [],
      ),
  },
  {
    id: "calls-answered",
    says: "Each call has a result in the next message.",
    source: toolUse,
    words:
      "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    breaches: ({ messages }) =>
      messages.flatMap((message, index) => {
        const results = resultsIn(messages[index + 1]);
        return usesIn(message).flatMap((id) => (results.includes(id) ? [] : [[index, id]]));
      }),
  },
  {
    id: "results-called",
    says: "Each result has a call in the message before.",
    source: toolUse,
    words:
      "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    breaches: ({ messages }) =>
      messages.flatMap((message, index) => {
        const calls = usesIn(messages[index - 1]);
        return resultsIn(message).flatMap((id) => (calls.includes(id) ? [] : [[index, id]]));
      }),
  },
  {
    id: "one-result",
    says: "A call has one result.",
    source: toolUse,
    words:
      "messages.{}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {}",
    breaches: ({ messages }) =>
      messages.flatMap((message, index) =>
        repeated(resultsIn(message), (id) => id).map((id) => [index, id]),
      ),
  },
  {
    id: "results-first",
    says: "Results come before all else in their message.",
    source: toolUse,
    words:
      "{}: `tool_use` ids were found without `tool_result` blocks immediately after: a `tool_result` block must come first in the content array.",
    breaches: (body) =>
      body.messages.flatMap(({ content }, message) => {
        const other = content.findIndex(({ type }) => type !== "tool_result");
        return content.flatMap(({ type }, index) =>
          type === "tool_result" && other !== -1 && other < index
            ? [[`messages.${message}.content.${index}`]]
            : [],
        );
      }),
  },
  {
    id: "signed-thinking",
    says: "A thinking block has its signature.",
    source: thinking,
    words: "{}.thinking.signature: Field required",
    breaches: (body) =>
      blocksOf(body).flatMap(({ at, block }) =>
        block.type === "thinking" && (block.signature ?? "") === "" ? [[at]] : [],
      ),
  },
  {
    id: "thinking-first",
    says: "With thinking on, a loop of calls and results that is still running begins with thinking.",
    source: "https://platform.claude.com/docs/en/build-with-claude/thinking-tool-workflows",
    words:
      "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
    breaches: ({ messages, thinking: option }) => {
      if (option?.type !== "enabled") return [];
      const last = messages.findLastIndex(({ role }) => role === "assistant");
      if (resultsIn(messages[last + 1]).length === 0) return [];
      // A loop is one turn of the model: later replies of it need not think.
      const begin = 1 + messages.findLastIndex((message, index) => index < last && speaks(message));
      const first = messages[begin]?.content[0]?.type ?? "nothing";
      return /^(redacted_)?thinking$/.test(first) ? [] : [[begin, first]];
    },
  },
  {
    id: "provider-calls-answered",
    says: "A call that the provider ran has its result before the user speaks again.",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools",
    words:
      "{}: `{}` tool use with id `{}` was found without a corresponding `{}_tool_result` block",
    breaches: (body) => {
      const spoken = body.messages.findLastIndex(speaks);
      const answered = new Set(blocksOf(body).map(({ block }) => block.tool_use_id));
      return blocksOf(body).flatMap(({ at, message, block: { type, id = "", name = "" } }) =>
        type === "server_tool_use" && message < spoken && !answered.has(id)
          ? [[at, name, id, name]]
          : [],
      );
    },
  },
  {
    id: "provider-results-called",
    says: "The result of a tool that the provider ran comes after its call.",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools",
    words:
      "{}: unexpected `tool_use_id` found in `{}` blocks: {}. Each `{}` block must have a corresponding `server_tool_use` block before it.",
    breaches: (body) => {
      const called = new Set<string>();
      return blocksOf(body).flatMap(({ at, block: { type, id = "", tool_use_id: of = "" } }) => {
        if (type === "server_tool_use") called.add(id);
        return type.endsWith("_tool_result") && !called.has(of) ? [[at, type, of, type]] : [];
      });
    },
  },
  {
    id: "marks",
    says: "At most four blocks have a cache mark.",
    source: caching,
    words: "A maximum of 4 blocks with cache_control may be provided. Found {}.",
    breaches: (body) => (marks(body).length > 4 ? [[marks(body).length]] : []),
  },
  {
    id: "mark-lifetimes",
    says: "A cache mark of one hour does not come after one of five minutes.",
    source: "https://github.com/cnighswonger/claude-code-cache-fix/issues/44",
    words:
      "{}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    breaches: (body) => {
      const all = marks(body);
      const short = all.findIndex(({ block }) => block.ttl !== "1h");
      return all.flatMap(({ at, block }, index) =>
        short !== -1 && index > short && block.ttl === "1h" ? [[at]] : [],
      );
    },
  },
  {
    id: "marked-text",
    says: "No empty text has a cache mark.",
    source: "https://github.com/anthropics/claude-code/issues/55302",
    words: "{}.text: cache_control cannot be set for empty text blocks",
    breaches: (body) =>
      [...allBlocks(body), ...systemBlocks(body)].flatMap(({ at, block }) =>
        block.type === "text" && (block.text ?? "").trim() === "" && isObject(block.cache_control)
          ? [[at]]
          : [],
      ),
  },
  {
    id: "marked-thinking",
    says: "No thinking block has a cache mark.",
    source: caching,
    words: "{}.{}.cache_control: Extra inputs are not permitted",
    breaches: (body) =>
      blocksOf(body).flatMap(({ at, block }) =>
        block.type.endsWith("thinking") && isObject(block.cache_control) ? [[at, block.type]] : [],
      ),
  },
  {
    id: "image-type",
    says: "An image is a JPEG, PNG, GIF or WebP.",
    source: vision,
    words:
      "{}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    breaches: (body) =>
      allBlocks(body).flatMap(({ at, block: { type, source } }) =>
        type === "image" && source?.type === "base64" && !images.includes(source.media_type ?? "")
          ? [[at]]
          : [],
      ),
  },
  {
    id: "image-data",
    says: "An image is what it says that it is, and whole.",
    source: "https://github.com/anthropics/claude-code/issues/56511",
    words: "{}.image.source.base64: Could not process image",
    breaches: (body) =>
      allBlocks(body).flatMap(({ at, block: { type, source } }) => {
        if (type !== "image" || source?.type !== "base64") return [];
        const { data = "", media_type: said = "" } = source;
        return typeOfData(data) === said && isWhole(data, said) ? [] : [[at]];
      }),
  },
  {
    id: "pdf",
    says: "A PDF is one, and whole.",
    source: "https://github.com/anthropics/claude-code/issues/5174",
    words: "{}.pdf.source.base64.data: The PDF specified was not valid.",
    breaches: (body) =>
      allBlocks(body).flatMap(({ at, block: { type, source } }) => {
        if (type !== "document" || source?.type !== "base64") return [];
        const { data = "" } = source;
        const isGood = typeOfData(data) === "application/pdf" && isWhole(data, "application/pdf");
        return isGood ? [] : [[at]];
      }),
  },
  {
    id: "document-text",
    says: "A document of text has text.",
    source: reference,
    words: "{}.document.source.text.data: text content must be non-empty",
    breaches: (body) =>
      allBlocks(body).flatMap(({ at, block: { type, source } }) =>
        type === "document" && source?.type === "text" && (source.data ?? "").trim() === ""
          ? [[at]]
          : [],
      ),
  },
  {
    id: "tool-name",
    says: "A tool's name has at most 128 letters, digits, underscores and dashes.",
    source: toolUse,
    words: "tools.{}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    breaches: (body) =>
      customTools(body).flatMap(({ tool, index }) => (NAME.test(tool.name) ? [] : [[index]])),
  },
  {
    id: "unique-tools",
    says: "No two tools have one name.",
    source: toolUse,
    words: "tools: Tool names must be unique. ({})",
    breaches: ({ tools = [] }) => repeated(tools, ({ name }) => name).map(({ name }) => [name]),
  },
  {
    id: "object-schema",
    says: "The schema of a tool's input has the type object.",
    source: toolUse,
    words: "tools.{}.custom.input_schema.type: Input should be 'object'",
    breaches: (body) =>
      customTools(body).flatMap(({ schema, index }) =>
        schema["type"] === "object" ? [] : [[index]],
      ),
  },
  {
    id: "plain-schema",
    says: "The schema of a tool's input has no oneOf, allOf or anyOf at the top.",
    source: "https://github.com/marianfoo/mcp-sap-docs/pull/51",
    words:
      "tools.{}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    breaches: (body) =>
      customTools(body).flatMap(({ schema, index }) =>
        ["oneOf", "allOf", "anyOf"].some((key) => key in schema) ? [[index]] : [],
      ),
  },
  {
    id: "property-names",
    says: "The names of a tool's inputs have at most 64 letters, digits, underscores, dots and dashes.",
    source: "https://github.com/erikmaday/unusual-whales-mcp/pull/57",
    words:
      "tools.{}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    breaches: (body) =>
      customTools(body).flatMap(({ schema, index }) =>
        Object.keys(schema["properties"] ?? {}).every((key) => /^[a-zA-Z0-9_.-]{1,64}$/.test(key))
          ? []
          : [[index]],
      ),
  },
];

function systemBlocks({ system = [] }: Body): readonly Placed<InnerBlock>[] {
  return system.map((block, index) => ({ at: `system.${index}`, block }));
}

export const anthropicRules = rulebook(anthropicBody, rules);
