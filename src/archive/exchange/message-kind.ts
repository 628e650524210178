/** Which program's messages a value has, by the names that only they use. Pure. */

export const messageKinds = ["model-messages", "ui-messages", "openai", "anthropic"] as const;
export type MessageKind = (typeof messageKinds)[number];

export const kindNames: Readonly<Record<MessageKind, string>> = {
  "model-messages": "the AI SDK's model messages",
  "ui-messages": "the AI SDK's UI messages",
  openai: "OpenAI's messages",
  anthropic: "Anthropic's messages",
};

/** Fields of messages, of their blocks and of responses; behind `=`, their roles and types. */
const marks: readonly (readonly [MessageKind, readonly string[]])[] = [
  ["ui-messages", ["parts"]],
  ["model-messages", ["toolCallId", "approvalId", "mediaType", "providerOptions", "=tool-call"]],
  [
    "openai",
    [
      "tool_calls",
      "tool_call_id",
      "function_call",
      "call_id",
      "image_url",
      "input_audio",
      "file",
      "refusal",
      "reasoning",
      "reasoning_content",
      "summary",
      "choices",
      "output",
      "=developer",
      "=function",
      "=input_text",
      "=output_text",
    ],
  ],
  [
    "anthropic",
    ["=tool_use", "=server_tool_use", "=thinking", "tool_use_id", "source", "cache_control"],
  ],
];

/** The kind of the first value with a mark; undefined for texts alone, which all of them write alike. */
export function kindOf(values: readonly unknown[]): MessageKind | undefined {
  for (const value of values) {
    const names = namesIn(value);
    const found = marks.find(([, known]) => known.some((name) => names.has(name)));
    if (found !== undefined) return found[0];
  }
  return undefined;
}

function namesIn(value: unknown, withBlocks = true): ReadonlySet<string> {
  if (typeof value !== "object" || value === null) return new Set();
  const named = Object.entries(value).flatMap(([key, one]) => {
    const isKind = key === "type" || key === "role";
    if (isKind) return [`=${String(one)}`];
    const blocks = key === "content" && Array.isArray(one) && withBlocks ? one : [];
    const inner = blocks.flatMap((block) => [...namesIn(block, false)]);
    // Responses have all their fields, also those that are empty.
    return one === null ? inner : [key, ...inner];
  });
  return new Set(named);
}
