/** What OpenAI's Chat Completions API refuses, and those that speak as it does with rules of their own. */

import { z } from "zod";
import { dataUrl, OPENAI_NAME, openaiSchemaFault } from "./openai-values.ts";
import {
  isObjectText,
  isWhole,
  repeated,
  rulebook,
  stringsIn,
  typeOfData,
  type Rule,
} from "./rule.ts";

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.union([z.string(), z.looseObject({ url: z.string() })]).optional(),
});
const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string(),
        function: z.looseObject({ name: z.string(), arguments: z.string() }),
      }),
    )
    .nullish(),
  tool_call_id: z.string().optional(),
  reasoning_content: z.string().nullish(),
  prefix: z.boolean().optional(),
});
type Message = z.infer<typeof message>;

const chatBody = z.looseObject({
  model: z.string(),
  messages: z.array(message),
  thinking: z.looseObject({ type: z.string() }).optional(),
  tools: z
    .array(
      z.looseObject({
        type: z.string(),
        function: z
          .looseObject({
            name: z.string(),
            parameters: z.record(z.string(), z.unknown()).optional(),
          })
          .optional(),
      }),
    )
    .nullish(),
});
type Body = z.infer<typeof chatBody>;

interface PlacedCall {
  readonly message: number;
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

function callsIn({ tool_calls: calls }: Message, message: number): readonly PlacedCall[] {
  return (calls ?? []).map(({ id, function: { name, arguments: input } }, index) => ({
    message,
    index,
    id,
    name,
    input,
  }));
}

function callsOf({ messages }: Body): readonly PlacedCall[] {
  return messages.flatMap(callsIn);
}

/** The messages of tools right after a message. */
function toolMessages({ messages }: Body, after: number): readonly Message[] {
  const rest = messages.slice(after + 1);
  const end = rest.findIndex(({ role }) => role !== "tool");
  return end === -1 ? rest : rest.slice(0, end);
}

/** The reply that the messages of tools at an index belong to. */
function replyBefore({ messages }: Body, index: number): Message | undefined {
  return messages.slice(0, index).findLast(({ role }) => role !== "tool");
}

function functions({ tools }: Body) {
  return (tools ?? []).flatMap(({ function: given }, index) =>
    given === undefined ? [] : [{ ...given, parameters: given.parameters ?? {}, index }],
  );
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ type, text }) => text ?? type).join("");
}

function images({ messages }: Body) {
  return messages.flatMap(({ content }, index) =>
    typeof content === "string"
      ? []
      : (content ?? []).flatMap(({ image_url: image }) => {
          const sent = dataUrl(typeof image === "string" ? image : image?.url);
          return sent === undefined ? [] : [{ index, ...sent }];
        }),
  );
}

const reference = "https://platform.openai.com/docs/api-reference/chat/create";
const calling = "https://platform.openai.com/docs/guides/function-calling";

const rules: readonly Rule<Body>[] = [
  {
    id: "whole-characters",
    says: "No string has half a surrogate pair.",
    source: "https://github.com/anomalyco/opencode/issues/14630",
    words:
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON: {}.)",
    breaches: (body) =>
      [...stringsIn(body)].flatMap((string) => (string.isWellFormed() ? [] : [["lone surrogate"]])),
  },
  {
    id: "messages",
    says: "There are messages.",
    source: reference,
    words: "Invalid 'messages': empty array. Expected an array with minimum length 1.",
    breaches: ({ messages }) => (messages.length === 0 ? [[]] : []),
  },
  {
    id: "reply-content",
    says: "A reply in the history has content or calls.",
    source: "https://github.com/lobehub/lobehub/pull/8419",
    words: "Invalid request: the message at position {} with role 'assistant' must not be empty",
    breaches: ({ messages }) =>
      messages.flatMap((one, index) =>
        one.role === "assistant" && textOf(one) === "" && callsIn(one, index).length === 0
          ? [[index]]
          : [],
      ),
  },
  {
    id: "user-content",
    says: "A user's message is not empty.",
    source: "https://github.com/CherryHQ/cherry-studio/issues/4941",
    words: "Invalid request: the message at position {} with role 'user' must not be empty",
    breaches: ({ messages }) =>
      messages.flatMap((one, index) =>
        one.role === "user" && textOf(one).trim() === "" ? [[index]] : [],
      ),
  },
  {
    id: "called-name",
    says: "The name of a called function, in the history too, is of letters, digits, underscores and dashes.",
    source: "https://github.com/mcp-use/mcp-use/issues/90",
    words:
      "Invalid 'messages[{}].tool_calls[{}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    breaches: (body) =>
      callsOf(body).flatMap(({ message, index, name }) =>
        /^[a-zA-Z0-9_-]+$/.test(name) ? [] : [[message, index]],
      ),
  },
  {
    id: "called-name-length",
    says: "The name of a called function has at most 64 characters.",
    source: reference,
    words:
      "Invalid 'messages[{}].tool_calls[{}].function.name': string too long. Expected a string with maximum length 64, but got a string with length {} instead.",
    breaches: (body) =>
      callsOf(body).flatMap(({ message, index, name }) =>
        name.length > 64 ? [[message, index, name.length]] : [],
      ),
  },
  {
    id: "call-id",
    says: "The id of a call has 1 to 40 characters.",
    source: "https://github.com/microsoft/autogen/issues/6377",
    words:
      "Invalid 'messages[{}].tool_calls[{}].id': string too long. Expected a string with maximum length 40, but got a string with length {} instead.",
    breaches: (body) =>
      callsOf(body).flatMap(({ message, index, id }) =>
        id.length === 0 || id.length > 40 ? [[message, index, id.length]] : [],
      ),
  },
  {
    id: "call-arguments",
    says: "The arguments of a call are JSON of an object.",
    source: reference,
    words: "Invalid 'messages[{}].tool_calls[{}].function.arguments': expected a JSON object.",
    breaches: (body) =>
      callsOf(body).flatMap(({ message, index, input }) =>
        isObjectText(input) ? [] : [[message, index]],
      ),
  },
  {
    id: "unique-calls",
    says: "No two calls of a reply have one id.",
    source: "https://github.com/openclaw/openclaw/pull/47136",
    words: "Invalid parameter: Duplicate value for 'tool_call_id' of '{}' in messages[{}].",
    breaches: ({ messages }) =>
      messages.flatMap((one, index) =>
        repeated(callsIn(one, index), ({ id }) => id).map(({ id }) => [id, index]),
      ),
  },
  {
    id: "calls-answered",
    says: "Each call has a message of its tool after the reply.",
    source: calling,
    words:
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
    breaches: (body) =>
      callsOf(body).flatMap(({ message, id }) =>
        toolMessages(body, message).some(({ tool_call_id: answered }) => answered === id)
          ? []
          : [[id]],
      ),
  },
  {
    id: "one-result",
    says: "A call has one message of its tool.",
    source: "https://github.com/anomalyco/opencode/issues/1211",
    words: "Invalid parameter: Duplicate value for 'tool_call_id' of '{}'.",
    breaches: (body) =>
      body.messages.flatMap(({ role }, index) =>
        role === "assistant"
          ? repeated(toolMessages(body, index), ({ tool_call_id: id }) => id).map(
              ({ tool_call_id: id }) => [id ?? ""],
            )
          : [],
      ),
  },
  {
    id: "results-called",
    says: "A message of a tool follows the reply that called it.",
    source: calling,
    words:
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. ({})",
    breaches: (body) =>
      body.messages.flatMap(({ role, tool_call_id: id = "" }, index) => {
        if (role !== "tool") return [];
        const calls = replyBefore(body, index)?.tool_calls ?? [];
        return calls.some((call) => call.id === id) ? [] : [[`messages[${index}]`]];
      }),
  },
  {
    id: "image-data",
    says: "An image is a JPEG, PNG, GIF or WebP, and whole.",
    source: "https://github.com/CosmosShadow/gptpdf/issues/6",
    words:
      "You uploaded an unsupported image (messages[{}]). Please make sure your image is valid and is of one of the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    breaches: (body) =>
      images(body).flatMap(({ index, data }) => {
        const type = typeOfData(data);
        return type?.startsWith("image/") === true && isWhole(data, type) ? [] : [[index]];
      }),
  },
  {
    id: "tool-name",
    says: "A function's name has at most 64 letters, digits, underscores and dashes.",
    source: "https://github.com/nanbingxyz/5ire/issues/33",
    words:
      "Invalid 'tools[{}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    breaches: (body) =>
      functions(body).flatMap(({ name, index }) => (OPENAI_NAME.test(name) ? [] : [[index]])),
  },
  {
    id: "object-schema",
    says: "The schema of a function's parameters has the type object.",
    source: "https://github.com/chatanywhere/GPT_API_free/issues/403",
    words:
      "Invalid schema for function '{}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
    breaches: (body) =>
      functions(body).flatMap(({ name, parameters }) =>
        parameters["type"] === "object"
          ? []
          : [[name, JSON.stringify(parameters["type"] ?? "None")]],
      ),
  },
  {
    id: "plain-schema",
    says: "The schema of a function's parameters has no oneOf, anyOf, allOf, enum or not at the top.",
    source: "https://github.com/nspady/google-calendar-mcp/issues/39",
    words:
      "Invalid schema for function '{}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    breaches: (body) =>
      functions(body).flatMap(({ name, parameters }) =>
        openaiSchemaFault(parameters) ? [[name]] : [],
      ),
  },
];

/** DeepSeek and Kimi, while they think. */
function thinks({ model, thinking }: Body): boolean {
  return thinking === undefined
    ? /reasoner|thinking|v4|k2\.[5-9]/.test(model)
    : thinking.type === "enabled";
}

const deepseek: readonly Rule<Body>[] = [
  {
    id: "deepseek-reasoning",
    says: "A thinking model gets its reasoning back with the calls of the current turn.",
    source: "https://api-docs.deepseek.com/guides/thinking_mode",
    words:
      "The `reasoning_content` in the thinking mode must be passed back to the API. (messages[{}])",
    breaches: (body) => {
      const turn = body.messages.findLastIndex(({ role }) => role === "user");
      return body.messages.flatMap((one, index) =>
        thinks(body) &&
        index > turn &&
        callsIn(one, index).length > 0 &&
        typeof one.reasoning_content !== "string"
          ? [[index]]
          : [],
      );
    },
  },
];

const moonshot: readonly Rule<Body>[] = [
  {
    id: "moonshot-reasoning",
    says: "A thinking model gets its reasoning, which is not empty, back with every reply that calls.",
    source: "https://github.com/theopenco/llmgateway/pull/2093",
    words:
      "thinking is enabled but reasoning_content is missing in assistant tool call message at index {}",
    breaches: (body) =>
      body.messages.flatMap((one, index) =>
        thinks(body) && callsIn(one, index).length > 0 && (one.reasoning_content ?? "") === ""
          ? [[index]]
          : [],
      ),
  },
];

const xai: readonly Rule<Body>[] = [
  {
    id: "xai-content",
    says: "Each message has content, if only an empty text beside calls.",
    source: "https://github.com/langchain-ai/langchain/issues/34140",
    words:
      "Invalid request content: Each message must have at least one content element. (messages[{}])",
    breaches: ({ messages }) =>
      messages.flatMap(({ content }, index) =>
        content === null ||
        content === undefined ||
        (Array.isArray(content) && content.length === 0)
          ? [[index]]
          : [],
      ),
  },
];

const groq: readonly Rule<Body>[] = [
  {
    id: "groq-reasoning",
    says: "No message has reasoning_content.",
    source: "https://github.com/tashfeenahmed/freellmapi/issues/1070",
    words:
      "'messages.{}' : for 'role:assistant' the following must be satisfied[('messages.{}' : property 'reasoning_content' is unsupported)]",
    breaches: ({ messages }) =>
      messages.flatMap((one, index) => ("reasoning_content" in one ? [[index, index]] : [])),
  },
];

const mistral: readonly Rule<Body>[] = [
  {
    id: "mistral-call-id",
    says: "The id of a call has exactly nine letters and digits.",
    source: "https://github.com/anomalyco/opencode/issues/1680",
    words: "Tool call id was {} but must be a-z, A-Z, 0-9, with a length of 9.",
    breaches: (body) =>
      callsOf(body).flatMap(({ id }) => (/^[a-zA-Z0-9]{9}$/.test(id) ? [] : [[id]])),
  },
  {
    id: "mistral-order",
    says: "After a tool comes another one or a reply, and no message of the user.",
    source: "https://github.com/mistralai/mistral-common/issues/169",
    words: "Unexpected role '{}' after role '{}'",
    breaches: ({ messages }) =>
      messages.flatMap(({ role }, index) =>
        (role === "user" || role === "system") && messages[index - 1]?.role === "tool"
          ? [[role, "tool"]]
          : [],
      ),
  },
  {
    id: "mistral-last",
    says: "The last message is the user's or a tool's, unless a reply is to be continued.",
    source: "https://github.com/0xPlaygrounds/rig/pull/1130",
    words: "Expected last role User or Tool (or Assistant with prefix True) for serving but got {}",
    breaches: ({ messages }) => {
      const last = messages.at(-1);
      const isGood = last?.role === "user" || last?.role === "tool" || last?.prefix === true;
      return isGood ? [] : [[last?.role ?? "none"]];
    },
  },
  {
    id: "mistral-results",
    says: "There are as many messages of tools as calls.",
    source:
      "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py",
    words: "Not the same number of function calls and responses ({} and {})",
    breaches: (body) =>
      body.messages.flatMap((one, index) => {
        const [calls, results] = [callsIn(one, index).length, toolMessages(body, index).length];
        return one.role === "assistant" && calls !== results ? [[calls, results]] : [];
      }),
  },
];

const deepseekSurrogates: Rule<Body> = {
  id: "whole-characters",
  says: "No string has half a surrogate pair.",
  source: "https://github.com/Zoo-Code-Org/Zoo-Code/issues/461",
  words: "Failed to parse the request body as JSON: {} in hex escape",
  breaches: (body) =>
    [...stringsIn(body)].flatMap((string) =>
      string.isWellFormed() ? [] : [["lone leading surrogate"]],
    ),
};

/** OpenAI and those nearest to it take a reply or a message without words. */
const words = ["reply-content", "user-content"];
const without = (...ids: readonly string[]): readonly Rule<Body>[] =>
  rules.filter(({ id }) => !ids.includes(id));

export const chatRules = rulebook(chatBody, without(...words));
export const deepseekRules = rulebook(chatBody, [
  deepseekSurrogates,
  ...without("whole-characters", ...words),
  ...deepseek,
]);
export const moonshotRules = rulebook(chatBody, [...rules, ...moonshot]);
export const xaiRules = rulebook(chatBody, [...rules, ...xai]);
export const groqRules = rulebook(chatBody, [...without(...words), ...groq]);
export const mistralRules = rulebook(chatBody, [
  ...without("call-id", "calls-answered", "one-result"),
  ...mistral,
]);
export const openrouterRules = rulebook(chatBody, rules);
