/**
 * Asks a provider to cache a prompt, in the request alone: marks on Claude's tools, instructions and newest
 * messages, a cache key for OpenAI. Pure. Marks move with each step, so they come after the conversion.
 */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { Caching } from "../../agent/index.ts";
import type { CacheLifetime } from "../../context/index.ts";
import type { ModelName } from "../../events/index.ts";

type Options = SharedV4ProviderOptions | undefined;
type Marks = (ttl: CacheLifetime) => SharedV4ProviderOptions;

/** Options by which users mark a prompt themselves, of any provider. */
const USERS = [
  "cacheControl",
  "cache_control",
  "cachePoint",
  "caching",
  "promptCacheBreakpoint",
  "promptCacheKey",
  "promptCacheOptions",
  // Anthropic keeps the messages of a thread itself.
  "thread",
];

const control = (ttl: CacheLifetime) => ({
  type: "ephemeral",
  ...(ttl === "5m" ? {} : { ttl }),
});
const cacheControl: Marks = (ttl) => ({ anthropic: { cacheControl: control(ttl) } });
const cachePoint: Marks = (ttl) => ({
  bedrock: { cachePoint: { type: "default", ...(ttl === "5m" ? {} : { ttl }) } },
});

/** Claude on Bedrock refuses the marks before 3.5 Haiku and 3.7. */
const unmarkedOnBedrock = /claude-(?:v\d|\d(?:[.:]|$)|instant|3-(?:haiku|opus|sonnet|5-sonnet))/;

/** The provider option that tells a model's client where to cache a prompt. Undefined if it needs no marks. */
function marksFor({ provider, modelId }: ModelName): Marks | undefined {
  const isClaude = /claude/i.test(modelId);
  if (/bedrock/.test(provider)) {
    if (!isClaude || unmarkedOnBedrock.test(modelId)) return undefined;
    return /anthropic/.test(provider) ? cacheControl : cachePoint;
  }
  if (/^openrouter/i.test(provider)) {
    // Its own client reads the first, OpenAI-compatible ones pass the second on.
    return isClaude
      ? (ttl) => ({
          openrouter: { cacheControl: control(ttl) },
          openaiCompatible: { cache_control: control(ttl) },
        })
      : undefined;
  }
  // Vercel's gateway may ask Anthropic, Vertex or Bedrock.
  if (provider.startsWith("gateway"))
    return isClaude ? (ttl) => ({ ...cacheControl(ttl), ...cachePoint(ttl) }) : undefined;
  return isClaude || /anthropic/.test(provider) ? cacheControl : undefined;
}

/** The same call, with what its provider needs to cache the prompt. Unchanged if the user marked anything. */
export function withCaching(
  params: LanguageModelV4CallOptions,
  model: ModelName,
  caching: Caching | undefined,
): LanguageModelV4CallOptions {
  if (caching === undefined) return params;
  const { providerOptions } = params;
  const namespace = keyNamespace(model, providerOptions);
  const marks = caching.pays ? marksFor(model)?.(caching.ttl) : undefined;
  // The look at the whole prompt comes last: most models need neither.
  if ((namespace === undefined && marks === undefined) || isMarked(params)) return params;
  if (namespace !== undefined)
    return {
      ...params,
      providerOptions: merged(providerOptions, { [namespace]: { promptCacheKey: caching.key } }),
    };
  return marks === undefined ? params : marked(params, marks);
}

/** The same for a model that the SDK looks up by its name: the gateway marks the prompt. */
export function namedModelOptions(
  modelId: string,
  call: MarkedCall & { readonly providerOptions?: Options },
  caching: Caching | undefined,
): Options {
  const { providerOptions } = call;
  if (caching?.pays !== true || !/claude/i.test(modelId) || isMarked(call)) return providerOptions;
  return merged(providerOptions, { gateway: { caching: "auto" } });
}

/**
 * Where OpenAI's client reads a cache key. A proxy under its name may refuse a field that it does not know, and
 * so does Azure for others' models, so the models are OpenAI's by their names.
 */
function keyNamespace({ provider, modelId }: ModelName, options: Options): string | undefined {
  const [, maker, format] = /^(openai|azure)\.(chat|responses)$/.exec(provider) ?? [];
  if (maker === undefined) return undefined;
  if (!/^(?:ft:)?(?:gpt-(?!oss)|chatgpt|codex|o\d)/.test(modelId)) return undefined;
  // For Azure's responses it reads one of two namespaces, as a whole.
  const isAzure = maker === "azure" && format === "responses" && options?.["azure"] !== undefined;
  return isAzure ? "azure" : "openai";
}

/** Messages and tools before or after their conversion: both have their options at the same places. */
interface MarkedCall {
  readonly providerOptions?: object | undefined;
  readonly tools?: readonly object[];
  readonly prompt: readonly object[];
}

/** Whether the user has marked anything in the settings, instructions, tools or messages of a call. */
function isMarked({ providerOptions, tools = [], prompt }: MarkedCall): boolean {
  return hasMark(providerOptions) || [...tools, ...prompt].some(containsMark);
}

/** Where a tool, a message, a part or its output has others within. */
const INNER = ["content", "output", "value"];

/** Looks into a tool, a message, its parts and their outputs. */
function containsMark(value: object): boolean {
  if ("providerOptions" in value && hasMark(value.providerOptions)) return true;
  // What a tool answered as JSON is data, whatever the names of its fields.
  if ("type" in value && (value.type === "json" || value.type === "error-json")) return false;
  return INNER.some((name) => {
    const inner: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    return Array.isArray(inner) ? inner.some(isObjectWithMark) : isObjectWithMark(inner);
  });
}

function isObjectWithMark(value: unknown): boolean {
  return typeof value === "object" && value !== null && containsMark(value);
}

function hasMark(options: unknown): boolean {
  if (typeof options !== "object" || options === null) return false;
  return Object.values(options).some(
    (of: unknown) =>
      typeof of === "object" && of !== null && USERS.some((name) => Object.hasOwn(of, name)),
  );
}

/**
 * Four marks, as many as Claude allows: the last tool, the last instructions, the newest message, and the one
 * that was the newest at the last request, since Claude looks for an earlier prompt only within 20 blocks before
 * a mark.
 */
function marked(
  params: LanguageModelV4CallOptions,
  marks: SharedV4ProviderOptions,
): LanguageModelV4CallOptions {
  const { prompt, tools } = params;
  const lastTool =
    tools?.findLastIndex((tool) => tool.type === "function" && !isDeferred(tool)) ?? -1;
  const reply = prompt.findLastIndex(({ role }) => role === "assistant");
  const places = new Set([
    prompt.findLastIndex(({ role, content }) => role === "system" && content !== ""),
    lastMarkable(prompt.slice(0, Math.max(reply, 0))),
    lastMarkable(prompt),
  ]);
  return {
    ...params,
    ...(tools === undefined
      ? {}
      : {
          tools: tools.map((tool, index) => (index === lastTool ? withMarks(tool, marks) : tool)),
        }),
    prompt: prompt.map((message, index) =>
      places.has(index) ? markedMessage(message, marks) : message,
    ),
  };
}

/** A tool that the model looks up is not in the cached prompt, and a mark on it is refused. */
function isDeferred({ providerOptions }: { readonly providerOptions?: Options }): boolean {
  return providerOptions?.["anthropic"]?.["deferLoading"] === true;
}

function lastMarkable(prompt: LanguageModelV4Prompt): number {
  return prompt.findLastIndex((message) => markablePart(message) !== -1);
}

/** The last part of a message to the model that has content: Claude refuses a mark on an empty one. */
function markablePart(message: LanguageModelV4Message): number {
  if (message.role !== "user" && message.role !== "tool") return -1;
  return message.content.findLastIndex((part) => {
    switch (part.type) {
      case "text":
        return part.text.trim() !== "";
      case "file":
        return true;
      case "tool-result":
        return hasContent(part.output);
      case "tool-approval-response":
        return false;
    }
  });
}

type Output = Extract<
  Extract<LanguageModelV4Message, { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

function hasContent(output: Output): boolean {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value.trim() !== "";
    case "content":
      return output.value.some((part) => part.type !== "text" || part.text.trim() !== "");
    case "json":
    case "error-json":
    case "execution-denied":
      return true;
  }
}

/** On the part that ends the message; of instructions on the message, which is one text. */
function markedMessage(
  message: LanguageModelV4Message,
  marks: SharedV4ProviderOptions,
): LanguageModelV4Message {
  const place = markablePart(message);
  switch (message.role) {
    case "system":
      return withMarks(message, marks);
    case "user":
      return { ...message, content: markedAt(message.content, place, marks) };
    case "tool":
      return { ...message, content: markedAt(message.content, place, marks) };
    case "assistant":
      return message;
  }
}

function markedAt<Part extends { providerOptions?: SharedV4ProviderOptions }>(
  parts: readonly Part[],
  place: number,
  marks: SharedV4ProviderOptions,
): Part[] {
  return parts.map((part, index) => (index === place ? withMarks(part, marks) : part));
}

function withMarks<Value extends object>(
  value: Value & { providerOptions?: SharedV4ProviderOptions },
  marks: SharedV4ProviderOptions,
): Value {
  return { ...value, providerOptions: merged(value.providerOptions, marks) };
}

function merged(options: Options = {}, added: SharedV4ProviderOptions): SharedV4ProviderOptions {
  const both = { ...options };
  for (const [name, of] of Object.entries(added)) both[name] = { ...options[name], ...of };
  return both;
}
