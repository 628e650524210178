/**
 * What the model is given of an MCP result, as content of the AI SDK: media as files, the rest as
 * text. Pure; a result that a log has kept is converted again to the same.
 */

import { z } from "zod";
import type { JsonValue, ModelOutput } from "../../events/index.ts";

type Content = Extract<ModelOutput, { readonly type: "content" }>["value"];
type ContentPart = Content[number];

interface McpResource {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string | undefined;
  readonly blob?: string | undefined;
}

interface McpPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What a tool of a server answers with, as far as it is looked at. */
export interface McpResult {
  readonly content?: readonly McpPart[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

const resource: z.ZodType<McpResource> = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});

const resultSchema: z.ZodType<McpResult> = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

/** @throws ZodError for what is no result of a tool */
export function parseMcpResult(value: unknown): McpResult {
  return resultSchema.parse(value);
}

/** For `toModelOutput` of a tool: what the model is given of a result. */
export function mcpModelOutput(output: unknown): ModelOutput {
  const parsed = resultSchema.safeParse(output);
  // Servers of the first protocol answered with any value.
  if (!parsed.success || parsed.data.content === undefined) {
    return { type: "json", value: asJson(output) };
  }
  const { content, structuredContent } = parsed.data;
  const shown: Content = content.map(contentPart);
  const rest =
    structuredContent === undefined || isTold(structuredContent, content)
      ? []
      : [textPart(JSON.stringify(structuredContent))];
  return { type: "content", value: [...shown, ...rest] };
}

function textPart(text: string): ContentPart {
  return { type: "text", text };
}

function filePart(data: string, mediaType: string, filename?: string): ContentPart {
  const named = filename === undefined ? {} : { filename };
  return { type: "file", mediaType, data: { type: "data", data }, ...named };
}

function contentPart(given: McpPart): ContentPart {
  if (isText(given)) return textPart(given.text);
  const { data, mimeType } = given;
  if (typeof data === "string" && typeof mimeType === "string") return filePart(data, mimeType);
  const parsed = resource.safeParse(given["resource"]);
  if (given.type === "resource" && parsed.success) return resourcePart(parsed.data);
  // A link is for the model to follow, by whatever tool it has for that.
  return textPart(JSON.stringify(given));
}

function isText(given: McpPart): given is McpPart & { readonly text: string } {
  return given.type === "text" && typeof given["text"] === "string";
}

/** Text stays text with the address that it came from, however it was sent. */
function resourcePart({ uri, mimeType, text, blob }: McpResource): ContentPart {
  if (blob === undefined) return textPart(JSON.stringify({ uri, mimeType, text }));
  if (mimeType !== undefined && isTextual(mimeType)) {
    const decoded = Buffer.from(blob, "base64").toString("utf8");
    return textPart(JSON.stringify({ uri, mimeType, text: decoded }));
  }
  return filePart(blob, mimeType ?? "application/octet-stream", uri.split("/").at(-1) ?? uri);
}

function isTextual(mediaType: string): boolean {
  return /^text\/|[/+](?:json|xml|yaml)(?:;|$)/.test(mediaType);
}

/** Whether structured content says nothing that the content beside it does not: servers send most of it twice. */
function isTold(structured: unknown, content: readonly McpPart[]): boolean {
  const texts = content.filter(isText).map(({ text }) => text);
  const same = JSON.stringify(structured);
  if (texts.some((text) => compactJson(text) === same)) return true;
  const told = new Set(leaves(content));
  return leaves(structured).every((leaf) => told.has(leaf));
}

function compactJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function leaves(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap(leaves);
}

function asJson(value: unknown): JsonValue {
  return z
    .json()
    .catch(String(value))
    .parse(value ?? null);
}

/** What a failed result says in words; of media it names the kind. */
export function failureMessage({ content = [], structuredContent }: McpResult): string {
  const said = content.map((given) => {
    if (isText(given)) return given.text;
    const shown = contentPart(given);
    return "text" in shown ? shown.text : `[${given.type}]`;
  });
  const text = said.join("\n").trim();
  if (text !== "") return text;
  return structuredContent === undefined
    ? "The tool failed and did not say why."
    : JSON.stringify(structuredContent);
}

interface ToolFailure {
  readonly details: { readonly result: McpResult };
}

const failureSchema: z.ZodType<ToolFailure> = z.looseObject({
  code: z.literal("MCP_TOOL_FAILED"),
  details: z.looseObject({ result: resultSchema }),
});

/**
 * What the model is given of an error in the place of its message: of a failed result that has media,
 * all of it, under a line that says that it is a failure. Undefined for every other error.
 */
export function failureOutput(error: unknown): ModelOutput | undefined {
  const parsed = failureSchema.safeParse(error);
  if (!parsed.success) return undefined;
  const output = mcpModelOutput(parsed.data.details.result);
  if (output.type !== "content" || output.value.every((part) => "text" in part)) {
    return undefined;
  }
  return { ...output, value: [textPart("The tool failed. What it said:"), ...output.value] };
}
