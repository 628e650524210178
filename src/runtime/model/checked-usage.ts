/**
 * Doubts a bill that its request does not allow: a token has at least one byte. Called at the end of each model
 * call, before its usage is recorded. What the provider reported stays in the event, beside our estimate.
 */

import type { ModelMessage } from "ai";
import { nameOf, searchTools, type Agent, type PreparedAgent } from "../../agent/index.ts";
import { measuresIn, type TokenUsage, defined } from "../../events/index.ts";
import type { UsageState } from "../../projections/index.ts";

/** What a model call sends. */
export interface SentPrompt extends Pick<PreparedAgent, "agent" | "instructions" | "tools"> {
  readonly messages: readonly ModelMessage[];
  /** The usage so far: providers bill reasoning of earlier replies again that no message shows. */
  readonly usage?: Pick<UsageState, "steps">;
  /** Whether it has the schema of an output. A replay does not know more of that. */
  readonly hasSchema?: boolean;
}

/** What providers add to a prompt: instructions for tools, the marks of a chat template. */
const HIDDEN_TOKENS = 4096;
/** Of the definition of a tool that a search found: the text of the first tools does not have it. */
const FOUND_TOKENS = 2048;
/** Of an output's schema: OpenAI takes names of 120,000 characters ("Structured outputs"). */
const SCHEMA_TOKENS = 50_000;
/** gpt-4o-mini's largest picture has 48,169 tokens ("Images and vision" of OpenAI's documentation). */
const PICTURE_TOKENS = 50_000;
/** The longest reply of any model with hidden reasoning, about double of what they offer today. */
const REPLY_TOKENS = 512_000;

/** Settings by which a provider adds content that the request does not have. */
const addingContent: ReadonlySet<string> = new Set([
  "cachedContent", // Google
  "previousResponseId", // OpenAI, xAI
  "conversation", // OpenAI
  "searchParameters", // xAI
  "dataSources", // Azure
  "mcpServers", // Anthropic
  "container", // Anthropic's skills
  "enableSearch", // Alibaba
  "plugins", // OpenRouter
]);

/** Models that search by themselves: OpenRouter's variants, Groq's systems, Perplexity's, and research. */
const searching = /:online\b|(^|\/)compound|(^|[/-])sonar|deep-research/i;

/**
 * The usage, with our estimate of a side that cannot be: input of more tokens than the request has bytes, output
 * of more than any model writes. What is computed from it, such as a price, is an estimate too.
 */
export function checkedUsage(
  bill: TokenUsage,
  estimate: () => TokenUsage,
  sent: SentPrompt,
): TokenUsage {
  const isInput = isPossible(bill.inputTokens, sent);
  // Our estimate reads the whole reply: hardly any bill needs it.
  const { outputTokens } = bill;
  const isOutput =
    outputTokens <= REPLY_TOKENS || outputTokens <= 2 * estimate().outputTokens + REPLY_TOKENS;
  if (isInput && isOutput) return bill;
  const { uncachedInputTokens: noCacheTokens, raw: _, reported, basis: __, ...figures } = bill;
  const given = reported ?? { ...figures, ...defined({ noCacheTokens }) };
  const input = isInput ? bill : withInput(bill, estimate().inputTokens);
  const usage = isOutput ? input : withOutput(input, estimate().outputTokens);
  return { ...usage, basis: "estimated", reported: given };
}

function withInput(usage: TokenUsage, inputTokens: number): TokenUsage {
  const { uncachedInputTokens: _, cacheReadTokens: __, cacheWriteTokens: ___, ...rest } = usage;
  return { ...rest, inputTokens };
}

function withOutput(usage: TokenUsage, outputTokens: number): TokenUsage {
  const { textTokens: _, reasoningTokens: __, ...rest } = usage;
  return { ...rest, outputTokens };
}

/**
 * Whether a request can have this many tokens. Our own estimate is no evidence, since it follows from earlier
 * bills.
 */
export function isPossible(tokens: number, sent: SentPrompt): boolean {
  const { agent, instructions, tools, messages } = sent;
  if (tokens <= HIDDEN_TOKENS || addsContent(agent)) return true;
  const found = searchTools(agent).length === 0 ? 0 : Object.keys(agent.tools ?? {}).length;
  const fixed = Buffer.byteLength(instructions) + Buffer.byteLength(tools);
  const schema = sent.hasSchema === true ? SCHEMA_TOKENS : 0;
  const said = (sent.usage?.steps ?? []).reduce((sum, { usage }) => sum + usage.outputTokens, 0);
  const hidden = HIDDEN_TOKENS + FOUND_TOKENS * found + schema + said;
  return tokens <= hidden + fixed + messages.reduce((sum, one) => sum + messageTokens(one), 0);
}

/** A provider's own tools bring what they find into the prompt. */
function addsContent({
  model,
  tools = {},
  providerOptions = {},
}: Pick<Agent, "model" | "tools" | "providerOptions">): boolean {
  return (
    searching.test(nameOf(model).modelId) ||
    Object.values(tools).some(({ type }) => type === "provider") ||
    Object.values(providerOptions).some((options) =>
      Object.keys(options).some((key) => addingContent.has(key)),
    )
  );
}

const known = new WeakMap<ModelMessage, number>();

/** Messages stay the same objects from step to step. */
function messageTokens(message: ModelMessage): number {
  const tokens = known.get(message) ?? mostTokens(message);
  known.set(message, tokens);
  return tokens;
}

/** The most tokens of a value: one for each byte, and those of its files. */
function mostTokens(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce(
    (sum, [key, one]) => sum + key.length + mostTokens(one),
    fileTokens(value),
  );
}

/** Parts of results that name a file and not its media type. */
const references: ReadonlySet<unknown> = new Set(["file-url", "file-id", "file-reference"]);
const pictures: ReadonlySet<unknown> = new Set([
  "image",
  "image-url",
  "image-file-id",
  "image-file-reference",
]);

/** A provider reads a file itself: a short PDF or film may have any number of tokens. */
function fileTokens(value: object): number {
  const kind = "type" in value ? value.type : undefined;
  const type = "mediaType" in value && typeof value.mediaType === "string" ? value.mediaType : "";
  if (pictures.has(kind) || type.startsWith("image")) return PICTURE_TOKENS;
  if (type.startsWith("text")) return measuresIn(value)?.bytes ?? (isInline(value) ? 0 : Infinity);
  return type === "" && !references.has(kind) ? 0 : Infinity;
}

/** Whether the request has the text, and no address of it. */
function isInline(value: object): boolean {
  if (!("data" in value)) return false;
  const { data } = value;
  if (typeof data === "string") return !/^[a-z][a-z\d]{1,9}:\/\//i.test(data);
  if (typeof data !== "object" || data === null) return false;
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return true;
  return "type" in data && (data.type === "data" || data.type === "text");
}
