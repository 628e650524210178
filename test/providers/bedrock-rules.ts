/** What the Converse API of Amazon Bedrock refuses, for Claude behind it. */

import { z } from "zod";
import { isObject, repeated, rulebook, stringsIn, type Rule } from "./rule.ts";

const block = z.looseObject({
  text: z.string().optional(),
  toolUse: z
    .looseObject({ toolUseId: z.string(), name: z.string(), input: z.unknown().optional() })
    .optional(),
  toolResult: z.looseObject({ toolUseId: z.string() }).optional(),
  reasoningContent: z
    .looseObject({
      reasoningText: z
        .looseObject({ text: z.string(), signature: z.string().nullish() })
        .optional(),
    })
    .optional(),
});

const bedrockBody = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.array(block) })),
  additionalModelRequestFields: z
    .looseObject({ thinking: z.looseObject({ type: z.string() }).optional() })
    .nullish(),
  toolConfig: z
    .looseObject({
      tools: z
        .array(
          z.looseObject({
            toolSpec: z
              .looseObject({
                name: z.string(),
                inputSchema: z.looseObject({ json: z.record(z.string(), z.unknown()) }),
              })
              .optional(),
          }),
        )
        .optional(),
    })
    .nullish(),
});
type Body = z.infer<typeof bedrockBody>;
type Message = Body["messages"][number];

const usesIn = (message: Message | undefined) =>
  (message?.content ?? []).flatMap(({ toolUse }) => toolUse ?? []);
const resultsIn = (message: Message | undefined) =>
  (message?.content ?? []).flatMap(({ toolResult }) => toolResult?.toolUseId ?? []);

function blocksOf({ messages }: Body) {
  return messages.flatMap(({ content }, message) =>
    content.map((block, index) => ({ block, at: `messages.${message}.content.${index}` })),
  );
}

function specs({ toolConfig }: Body) {
  return (toolConfig?.tools ?? []).flatMap(({ toolSpec }) => toolSpec ?? []);
}

const reference =
  "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html";
const toolUse =
  "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html";
const toolSpec =
  "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html";

const rules: readonly Rule<Body>[] = [
  {
    id: "whole-characters",
    says: "No string has half a surrogate pair.",
    source: "https://github.com/anthropics/claude-code/issues/2108",
    words: "The request body is not valid JSON: {}",
    breaches: (body) =>
      [...stringsIn(body)].flatMap((string) => (string.isWellFormed() ? [] : [["lone surrogate"]])),
  },
  {
    id: "user-first",
    says: "The first message is the user's.",
    source: reference,
    words:
      "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    breaches: ({ messages }) => (messages[0]?.role === "user" ? [] : [[]]),
  },
  {
    id: "input-last",
    says: "The last message is the user's.",
    source: reference,
    words:
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    breaches: ({ messages }) => (messages.at(-1)?.role === "user" ? [] : [[]]),
  },
  {
    id: "turns-alternate",
    says: "The messages of user and model alternate.",
    source: reference,
    words:
      "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again. (messages.{})",
    breaches: ({ messages }) =>
      messages.flatMap(({ role }, index) =>
        index > 0 && messages[index - 1]?.role === role ? [[index]] : [],
      ),
  },
  {
    id: "content",
    says: "Each message has content.",
    source: reference,
    words:
      "The content field in the Message object at messages.{} is empty. Add a ContentBlock object to the content field and try again.",
    breaches: ({ messages }) =>
      messages.flatMap(({ content }, index) => (content.length === 0 ? [[index]] : [])),
  },
  {
    id: "text",
    says: "No text of a message is blank; one in a tool's result may be.",
    source: "https://github.com/NousResearch/hermes-agent/issues/55092",
    words:
      "The text field in the ContentBlock object at {} is blank. Add text to the text field, and try again.",
    breaches: (body) =>
      blocksOf(body).flatMap(({ block: { text }, at }) =>
        text !== undefined && text.trim() === "" ? [[at]] : [],
      ),
  },
  {
    id: "called-name",
    says: "The name of a called tool, in the history too, has at most 64 letters, digits, underscores and dashes.",
    source: toolUse,
    words:
      "1 validation error detected: Value at '{}.toolUse.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    breaches: (body) =>
      blocksOf(body).flatMap(({ block: { toolUse: use }, at }) =>
        use !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(use.name) ? [[at]] : [],
      ),
  },
  {
    id: "call-id",
    says: "The id of a call has at most 64 letters, digits, underscores, dots, colons and dashes.",
    source: toolUse,
    words:
      "1 validation error detected: Value at '{}.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
    breaches: (body) =>
      blocksOf(body).flatMap(({ block: { toolUse: use }, at }) =>
        use !== undefined && !/^[a-zA-Z0-9_.:-]{1,64}$/.test(use.toolUseId) ? [[at]] : [],
      ),
  },
  {
    id: "unique-calls",
    says: "No two calls of a message have one id.",
    source: "https://github.com/double16/Cyber-AutoAgent-ng/issues/27",
    words: "The toolUse blocks at messages.{}.content contain duplicate Ids: {}",
    breaches: ({ messages }) =>
      messages.flatMap((message, index) =>
        repeated(usesIn(message), ({ toolUseId: id }) => id).map(({ toolUseId: id }) => [
          index,
          id,
        ]),
      ),
  },
  {
    id: "call-input",
    says: "The input of a call is an object.",
    source: toolUse,
    words:
      "The format of the value at {}.toolUse.input is invalid. Provide a json object for the field and try again.",
    breaches: (body) =>
      blocksOf(body).flatMap(({ block: { toolUse: use }, at }) =>
        use !== undefined && !isObject(use.input) ? [[at]] : [],
      ),
  },
  {
    id: "calls-answered",
    says: "Each call has a result in the next message.",
    source: reference,
    words: "Expected toolResult blocks at messages.{}.content for the following Ids: {}",
    breaches: ({ messages }) =>
      messages.flatMap((message, index) => {
        const results = resultsIn(messages[index + 1]);
        return usesIn(message).flatMap(({ toolUseId: id }) =>
          results.includes(id) ? [] : [[index + 1, id]],
        );
      }),
  },
  {
    id: "results-called",
    says: "Each result has a call in the message before.",
    source: reference,
    words:
      "The number of toolResult blocks at messages.{}.content exceeds the number of toolUse blocks of previous turn.",
    breaches: ({ messages }) =>
      messages.flatMap((message, index) => {
        const calls = usesIn(messages[index - 1]).map(({ toolUseId: id }) => id);
        return resultsIn(message).flatMap((id) => (calls.includes(id) ? [] : [[index]]));
      }),
  },
  {
    id: "thinking-first",
    says: "With thinking on, a loop of calls and results that is still running begins with thinking.",
    source: "https://github.com/anomalyco/opencode/issues/3077",
    words:
      "The model returned the following errors: messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
    breaches: ({ messages, additionalModelRequestFields: fields }) => {
      if (fields?.thinking?.type !== "enabled") return [];
      const last = messages.findLastIndex(({ role }) => role === "assistant");
      if (resultsIn(messages[last + 1]).length === 0) return [];
      const begin =
        1 +
        messages.findLastIndex(
          ({ role, content }, index) =>
            index < last &&
            role === "user" &&
            content.some(({ toolResult }) => toolResult === undefined),
        );
      return messages[begin]?.content[0]?.reasoningContent === undefined ? [[begin]] : [];
    },
  },
  {
    id: "signed-reasoning",
    says: "A reasoning block has its signature.",
    source:
      "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ReasoningTextBlock.html",
    words: "The model returned the following errors: {}.thinking.signature: Field required",
    breaches: (body) =>
      blocksOf(body).flatMap(({ block: { reasoningContent: reasoning }, at }) =>
        reasoning?.reasoningText !== undefined && (reasoning.reasoningText.signature ?? "") === ""
          ? [[at]]
          : [],
      ),
  },
  {
    id: "tools-defined",
    says: "A history with calls comes with tools.",
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use.html",
    words:
      "The toolConfig field must be defined when using toolUse and toolResult content blocks. ({})",
    breaches: (body) => {
      const first = body.messages.findIndex(
        (message) => usesIn(message).length > 0 || resultsIn(message).length > 0,
      );
      return first !== -1 && specs(body).length === 0 ? [[`messages.${first}`]] : [];
    },
  },
  {
    id: "tool-name",
    says: "A tool's name has at most 64 letters, digits, underscores and dashes.",
    source: toolSpec,
    words:
      "1 validation error detected: Value at 'toolConfig.tools.{}.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    breaches: (body) =>
      specs(body).flatMap(({ name }, index) =>
        /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? [] : [[index + 1]],
      ),
  },
  {
    id: "object-schema",
    says: "The schema of a tool's input has the type object and no oneOf, allOf or anyOf at the top.",
    source: toolSpec,
    words:
      "The value at toolConfig.tools.{}.toolSpec.inputSchema.json.type must be one of the following: object.",
    breaches: (body) =>
      specs(body).flatMap(({ inputSchema: { json } }, index) =>
        json["type"] === "object" && !["oneOf", "allOf", "anyOf"].some((key) => key in json)
          ? []
          : [[index]],
      ),
  },
];

export const bedrockRules = rulebook(bedrockBody, rules);
