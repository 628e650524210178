/**
 * What the adapters have in common: each block of a foreign message becomes parts of the AI SDK, or the name of
 * what no session holds. Pure.
 */

import type {
  FilePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "@ai-sdk/provider-utils";
import type { LanguageModelUsage } from "ai";
import { z } from "zod";

export type Part = TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart;

/** A block of a message, or several. */
export interface Block {
  readonly parts: readonly Part[];
  readonly dropped: readonly string[];
}

/** A message with what it says. A user's message may have the results of tools, as Anthropic's do. */
export interface Adapted extends Block {
  readonly role: "system" | "user" | "assistant";
}

export interface Format {
  readonly kind: MessageKind;
  /** The provider as the AI SDK names it. */
  readonly provider: string;
  readonly message: z.ZodType<Adapted>;
  readonly usage: z.ZodType<LanguageModelUsage>;
}

/** Fields that say nothing for a session, or that it says otherwise. */
const SILENT = new Set(["id", "index", "object", "role", "status", "type"]);

/** The fields with content that are not in the shape. */
function unread(value: object, shape: object): readonly string[] {
  return Object.entries(value).flatMap(([key, one]) => {
    const isEmpty = one === undefined || one === null || one === "" || one === false;
    const isSilent = isEmpty || key in shape || SILENT.has(key);
    return isSilent || (Array.isArray(one) && one.length === 0) ? [] : [key];
  });
}

type Fields<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape, z.core.$loose>>;

export function block<Shape extends z.ZodRawShape>(
  shape: Shape,
  make: (fields: Fields<Shape>) => readonly Part[] | Block,
): z.ZodType<Block> {
  return z.looseObject(shape).transform((fields) => {
    const made = make(fields);
    const { parts, dropped } = "parts" in made ? made : { parts: made, dropped: [] };
    return { parts, dropped: [...dropped, ...unread(fields, shape)] };
  });
}

/** A message whose blocks are in one or several of its fields. */
export function said<Shape extends z.ZodRawShape>(
  role: Adapted["role"],
  shape: Shape,
  make: (fields: Fields<Shape>) => readonly Part[] | Block,
): z.ZodType<Adapted> {
  return block(shape, make).transform((made) => ({ role, ...made }));
}

type Schemas<Value> = Readonly<Record<string, z.ZodType<Value>>>;

/** A value that its `role`, or else its `type`, gives a schema. `other`: for one that is in no list. */
export function byKind<Value>(
  schemas: Schemas<Value>,
  other: (kind: string, field: "role" | "type") => Value | undefined,
): z.ZodType<Value> {
  const kinds = z.looseObject({ role: z.string().optional(), type: z.string().optional() });
  return kinds.transform((value, context): Value => {
    const field = value.role === undefined && value.type !== undefined ? "type" : "role";
    const kind = value[field];
    const schema = kind !== undefined && Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
    const found = schema?.safeParse(value);
    if (found?.success === true) return found.data;
    for (const { path, message } of found?.error.issues ?? []) {
      context.addIssue({ code: "custom", path, message });
    }
    if (found !== undefined) return z.NEVER;
    const rest = kind === undefined ? undefined : other(kind, field);
    if (rest !== undefined) return rest;
    const known = Object.keys(schemas).map((name) => JSON.stringify(name));
    const message = `it must be one of ${known.join(", ")}`;
    context.addIssue({ code: "custom", path: [field], message });
    return z.NEVER;
  });
}

/** A text, or a list of blocks. A block of an unknown type is left out, and its type is named. */
export function contentOf(blocks: Schemas<Block>): z.ZodType<Block> {
  const one = byKind(blocks, (type): Block => ({ parts: [], dropped: [type] }));
  const listed = (given: unknown): unknown =>
    typeof given === "string" ? [{ type: "text", text: given }] : (given ?? []);
  return z.preprocess(listed, z.array(one)).transform(together);
}

export const nothing: Block = { parts: [], dropped: [] };

export function together(blocks: readonly Block[]): Block {
  const parts = blocks.flatMap((one) => one.parts);
  return { parts, dropped: blocks.flatMap((one) => one.dropped) };
}

/** A count of tokens. */
export const count = z.number().optional().catch(undefined);

export function text(words: string | null | undefined): readonly Part[] {
  return words === null || words === undefined || words === ""
    ? []
    : [{ type: "text", text: words }];
}

/** A text without the AI SDK's parts: several blocks as paragraphs. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

const DATA = /^data:([^;,]+)[^,]*;base64,/;

/** A file behind a URL, which may have its content itself. */
export function linked(url: string, mediaType: string, filename?: string | null): readonly Part[] {
  const [start, found = mediaType] = DATA.exec(url) ?? [""];
  return file(url.slice(start.length), found, filename);
}

export function file(
  data: FilePart["data"],
  mediaType: string,
  filename?: string | null,
): readonly Part[] {
  const name = typeof filename === "string" ? { filename } : {};
  return [{ type: "file", data, mediaType, ...name }];
}

/** What a tool answered. The name of the tool is that of the call. */
export function result(toolCallId: string, { parts, dropped }: Block, isError = false): Block {
  const texts = parts.filter((part) => part.type === "text");
  const isText = parts.length === texts.length;
  const files = parts.flatMap((part) => (part.type === "file" ? [part] : []));
  const common = { type: "tool-result", toolCallId, toolName: "" } as const;
  if (isError) {
    const output = { type: "error-text", value: wordsOf(parts) } as const;
    return {
      parts: [{ ...common, output }],
      dropped: [...dropped, ...files.map(({ type }) => type)],
    };
  }
  const output =
    isText && texts.length < 2
      ? { type: "text" as const, value: wordsOf(parts) }
      : { type: "content" as const, value: parts.flatMap(shown) };
  return { parts: [{ ...common, output }], dropped };
}

type Shown = Extract<ToolResultPart["output"], { readonly type: "content" }>["value"];

function shown(part: Part): Shown {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  if (part.type !== "file") return [];
  const { data, mediaType } = part;
  if (typeof data === "string") {
    return /^https?:/.test(data)
      ? // oxlint-disable-next-line typescript/no-deprecated -- JSON has no `URL`, which the newer form needs.
        [{ type: "file-url", url: data, mediaType }]
      : [{ type: "file", data: { type: "data", data }, mediaType }];
  }
  const isTagged = "type" in data && (data.type === "text" || data.type === "reference");
  return isTagged ? [{ type: "file", data, mediaType }] : [];
}

export const optional = z.string().nullish();

/** A block of text, which both formats have. */
export const words: z.ZodType<Block> = block({ text: z.string() }, (of) => text(of.text));

// Which program's messages a value has, by the names that only they use. Pure.

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
