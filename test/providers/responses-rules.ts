/** What OpenAI's Responses API refuses. */

import { z } from "zod";
import {
  isObjectText,
  isWhole,
  repeated,
  rulebook,
  stringsIn,
  typeOfData,
  type Rule,
} from "./rule.ts";
import { dataUrl, OPENAI_NAME, openaiSchemaFault } from "./openai-values.ts";

const item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  id: z.string().nullish(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  encrypted_content: z.string().nullish(),
  content: z.unknown().optional(),
  output: z.unknown().optional(),
});
type Item = z.infer<typeof item>;

const content = z.array(z.looseObject({ type: z.string(), image_url: z.string().optional() }));

const responsesBody = z.looseObject({
  input: z.array(item),
  store: z.boolean().nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.string(),
        name: z.string().optional(),
        parameters: z.record(z.string(), z.unknown()).nullish(),
      }),
    )
    .optional(),
});
type Body = z.infer<typeof responsesBody>;

const reference = "https://platform.openai.com/docs/api-reference/responses/create";

function functions({ tools = [] }: Body) {
  return tools.flatMap(({ type, name = "", parameters }, index) =>
    type === "function" ? [{ name, parameters: parameters ?? {}, index }] : [],
  );
}

function itemsOf(body: Body, ...types: readonly string[]): readonly (Item & { index: number })[] {
  return body.input.flatMap((one, index) =>
    types.includes(one.type ?? "") ? [{ ...one, index }] : [],
  );
}

/** How the id of an item begins, by its type. */
const prefixes: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  reasoning: "rs",
};

/** Whether an item or a reference to one is reasoning. */
function isReasoning({ type, id }: Item): boolean {
  return type === "reasoning" || (type === "item_reference" && (id ?? "").startsWith("rs_"));
}

function isAnswer(next: Item | undefined): boolean {
  const { type = "message", role } = next ?? { role: "user" };
  return type === "message" ? role === "assistant" : !type.endsWith("_output");
}

const rules: readonly Rule<Body>[] = [
  {
    id: "whole-characters",
    says: "No string has half a surrogate pair.",
    source: "https://github.com/anomalyco/opencode/issues/14630",
    words:
      "Invalid body: failed to parse JSON value. Please check the value to ensure it is valid JSON. (Common errors include trailing commas, missing closing brackets, missing quotation marks, etc.) {}",
    breaches: (body) =>
      [...stringsIn(body)].flatMap((string) => (string.isWellFormed() ? [] : [["lone surrogate"]])),
  },
  {
    id: "input",
    says: "There is input.",
    source: reference,
    words:
      "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
    breaches: ({ input }) => (input.length === 0 ? [[]] : []),
  },
  {
    id: "called-name",
    says: "The name of a called function, in the history too, is of letters, digits, underscores and dashes.",
    source: "https://github.com/mcp-use/mcp-use/issues/90",
    words:
      "Invalid 'input[{}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    breaches: (body) =>
      itemsOf(body, "function_call").flatMap(({ name = "", index }) =>
        /^[a-zA-Z0-9_-]+$/.test(name) ? [] : [[index]],
      ),
  },
  {
    id: "called-name-length",
    says: "The name of a called function has at most 64 characters.",
    source: reference,
    words:
      "Invalid 'input[{}].name': string too long. Expected a string with maximum length 64, but got a string with length {} instead.",
    breaches: (body) =>
      itemsOf(body, "function_call").flatMap(({ name = "", index }) =>
        name.length > 64 ? [[index, name.length]] : [],
      ),
  },
  {
    id: "call-arguments",
    says: "The arguments of a call are JSON of an object.",
    source: reference,
    words: "Invalid 'input[{}].arguments': expected a JSON object.",
    breaches: (body) =>
      itemsOf(body, "function_call").flatMap(({ arguments: given = "", index }) =>
        isObjectText(given) ? [] : [[index]],
      ),
  },
  {
    id: "call-id",
    says: "The id of a call has 1 to 64 characters.",
    source: "https://github.com/mweinbach/open-grok/pull/23",
    words:
      "Invalid 'input[{}].call_id': string too long. Expected a string with maximum length 64, but got a string with length {} instead.",
    breaches: (body) =>
      itemsOf(body, "function_call", "function_call_output").flatMap(
        ({ call_id: id = "", index }) =>
          id.length === 0 || id.length > 64 ? [[index, id.length]] : [],
      ),
  },
  {
    id: "unique-calls",
    says: "No two calls have one id.",
    source: "https://github.com/vercel/ai/issues/13307",
    words: "Duplicate function_call with call_id {} found in input.",
    breaches: (body) =>
      repeated(itemsOf(body, "function_call"), ({ call_id: id }) => id).map(({ call_id: id }) => [
        id ?? "",
      ]),
  },
  {
    id: "unique-items",
    says: "No two items have one id; parts of one reasoning are one item.",
    source: "https://github.com/vercel/ai/issues/13307",
    words: "Duplicate item found with id {}. Remove duplicate items from your input and try again.",
    breaches: ({ input }) =>
      repeated(input, ({ id }) => id ?? undefined).map(({ id }) => [id ?? ""]),
  },
  {
    id: "calls-answered",
    says: "Each call has an output.",
    source: "https://platform.openai.com/docs/guides/function-calling",
    words: "No tool output found for function call {}.",
    breaches: (body) => {
      const outputs = itemsOf(body, "function_call_output").map(({ call_id: id }) => id);
      return itemsOf(body, "function_call").flatMap(({ call_id: id = "" }) =>
        outputs.includes(id) ? [] : [[id]],
      );
    },
  },
  {
    id: "outputs-called",
    says: "Each output has a call before it, or a reference to one.",
    source: "https://platform.openai.com/docs/guides/function-calling",
    words: "No tool call found for function call output with call_id {}.",
    breaches: (body) =>
      itemsOf(body, "function_call_output").flatMap(({ call_id: id = "", index }) => {
        const before = body.input.slice(0, index);
        const isCalled = before.some(
          (one) =>
            (one.type === "function_call" && one.call_id === id) ||
            (one.type === "item_reference" && (one.id ?? "").startsWith("fc_")),
        );
        return isCalled ? [] : [[id]];
      }),
  },
  {
    id: "one-output",
    says: "A call has one output.",
    source: "https://platform.openai.com/docs/guides/function-calling",
    words: "Duplicate function_call_output with call_id {} found in input.",
    breaches: (body) =>
      repeated(itemsOf(body, "function_call_output"), ({ call_id: id }) => id).map(
        ({ call_id: id }) => [id ?? ""],
      ),
  },
  {
    id: "item-id",
    says: "The id of an item begins as its type says: msg, fc or rs.",
    source: "https://github.com/openai/codex/issues/33176",
    words: "Invalid 'input[{}].id': '{}'. Expected an ID that begins with '{}'.",
    breaches: ({ input }) =>
      input.flatMap(({ type, role, id }, index) => {
        const prefix = prefixes[type ?? (role === undefined ? "" : "message")];
        return typeof id !== "string" || prefix === undefined || id.startsWith(prefix)
          ? []
          : [[index, id, prefix]];
      }),
  },
  {
    id: "item-id-form",
    says: "The id of an item has at most 64 letters, digits, underscores and dashes.",
    source: "https://github.com/openai/codex/issues/9360",
    words:
      "Invalid 'input[{}].id': '{}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
    breaches: ({ input }) =>
      input.flatMap(({ id }, index) =>
        typeof id === "string" && !/^[\w-]{1,64}$/.test(id) ? [[index, id]] : [],
      ),
  },
  {
    id: "reasoning-followed",
    says: "Reasoning is followed by what it led to: a call or an answer.",
    source: "https://github.com/vercel/ai/issues/7099",
    words: "Item '{}' of type 'reasoning' was provided without its required following item.",
    breaches: ({ input }) =>
      input.flatMap((one, index) =>
        isReasoning(one) && !isAnswer(input[index + 1]) ? [[one.id ?? ""]] : [],
      ),
  },
  {
    id: "stored-items",
    says: "Where nothing is stored, items are sent whole: no references, and reasoning with its encrypted content.",
    source: "https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items",
    words:
      "Item with id '{}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    breaches: ({ input, store }) =>
      store !== false
        ? []
        : input.flatMap(({ type, id, encrypted_content: encrypted }) =>
            type === "item_reference" || (type === "reasoning" && typeof encrypted !== "string")
              ? [[id ?? ""]]
              : [],
          ),
  },
  {
    id: "image-data",
    says: "An image is a JPEG, PNG, GIF or WebP, what it says that it is, and whole.",
    source: "https://platform.openai.com/docs/guides/images-vision",
    words:
      "The image data you provided does not represent a valid image (input[{}]). Please check your input and try again with one of the following image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
    breaches: ({ input }) =>
      input.flatMap(({ content: said, output }, index) =>
        [said, output]
          .flatMap((parts) => content.safeParse(parts).data ?? [])
          .flatMap(({ type, image_url: url }) => {
            const sent = type === "input_image" ? dataUrl(url) : undefined;
            if (sent === undefined) return [];
            const found = typeOfData(sent.data);
            const isGood = found?.startsWith("image/") === true && isWhole(sent.data, found);
            return isGood ? [] : [[index]];
          }),
      ),
  },
  {
    id: "tool-name",
    says: "A function's name has at most 64 letters, digits, underscores and dashes.",
    source: reference,
    words:
      "Invalid 'tools[{}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
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

export const responsesRules = rulebook(responsesBody, rules);
