/**
 * Converts an MCP result to model output: media become files, everything else text. Pure: a recorded result
 * always gives the same output.
 */

import { detectMediaType } from "@ai-sdk/provider-utils";
import { z } from "zod";
import {
  type JsonValue,
  type ModelOutput,
  resemblesReference,
  parsedJson,
} from "../events/index.ts";
import {
  base64Of,
  called,
  fileData,
  UNKNOWN_TYPE,
  certainBase64,
  dataUrlContent,
  isTextType,
} from "../media/index.ts";
import {
  isGiven,
  mcpResultSchema,
  mediaOf,
  resourceOf,
  textOf,
  type McpMedia,
  type McpResource,
  type McpResult,
} from "./mcp-result.ts";
import { isDeepStrictEqual } from "node:util";

type Content = Extract<ModelOutput, { readonly type: "content" }>["value"];
type ContentPart = Content[number];

/** The `toModelOutput` of MCP tools. */
export function mcpModelOutput(output: unknown): ModelOutput {
  const { data: result = {} } = mcpResultSchema.safeParse(output);
  // Servers of the first protocol version answer with any value.
  if (!isGiven(result.content) && !isGiven(result.structuredContent)) {
    return { type: "json", value: asJson(output) };
  }
  const shown: Content = (result.content ?? []).map(contentPart);
  return { type: "content", value: [...shown, ...jsonParts(untoldContent(result))] };
}

/** JSON as text, followed by the media that it contained. */
function jsonParts(read: ReadJson | undefined): Content {
  if (read === undefined) return [];
  const files = read.media.map(({ data, mediaType }) => filePart(data, mediaType));
  return [textPart(read.text), ...files];
}

function textPart(text: string): ContentPart {
  return { type: "text", text };
}

function contentPart(given: unknown): ContentPart {
  const text = textOf(given);
  if (text !== undefined) return textPart(text);
  const media = mediaOf(given);
  if (media !== undefined) return mediaPart(media);
  const resource = resourceOf(given);
  if (resource !== undefined) return resourcePart(resource);
  // A link stays JSON: the model may follow it with a tool.
  return textPart(JSON.stringify(given));
}

/** Without a declared type, the bytes may decide it. */
function mediaPart({ type = "file", data, mimeType }: McpMedia): ContentPart {
  const mediaType = declaredType(mimeType) ?? detectedType(data);
  return mediaType === undefined
    ? textPart(`[The ${type} is not shown here: nothing says what media type it is of.]`)
    : filePart(data, mediaType);
}

function declaredType(mimeType: string | null | undefined): string | undefined {
  return isGiven(mimeType) && mimeType.trim() !== "" ? mimeType : undefined;
}

function detectedType(data: string): string | undefined {
  const found = fileData(data, true);
  if (found.kind !== "content") return UNKNOWN_TYPE;
  const { content, declared } = found.read();
  return declared ?? detectMediaType({ data: content });
}

/** A file part, or a note for data that is not base64: a server may not make the runtime fetch URLs. */
function filePart(data: string, mediaType: string, filename?: string): ContentPart {
  const found = fileData(data, true);
  const named = filename === undefined ? {} : { filename };
  switch (found.kind) {
    case "content": {
      // Base64 in lines, base64url and `data:` URLs become plain base64, which every provider accepts.
      const isPlain = found.isTaken && !/[\s_-]/.test(data);
      const plain = isPlain ? data : base64Of(found.read().content);
      return { type: "file", mediaType, data: { type: "data", data: plain }, ...named };
    }
    case "reference":
      // A recorded result refers to its blob.
      return { type: "file", mediaType, data: { type: "data", data }, ...named };
    default: {
      const why = found.kind === "broken" ? found.why : "it is no base64";
      return textPart(`[The file${called(filename)} (${mediaType}) is not shown here: ${why}.]`);
    }
  }
}

/** Text stays text with its URI, even if it was sent as base64. */
function resourcePart({ uri, mimeType, text, blob }: McpResource): ContentPart {
  if (!isGiven(blob)) {
    return textPart(
      JSON.stringify({ uri, mimeType: mimeType ?? undefined, text: text ?? undefined }),
    );
  }
  if (isGiven(mimeType) && isTextual(mimeType) && fileData(blob, true).kind === "content") {
    const decoded = Buffer.from(blob, "base64").toString("utf8");
    return textPart(JSON.stringify({ uri, mimeType, text: decoded }));
  }
  return filePart(blob, declaredType(mimeType) ?? UNKNOWN_TYPE, uri.split("/").at(-1) ?? uri);
}

function isTextual(mediaType: string): boolean {
  return /^text\/|[/+](?:json|xml|yaml)(?:;|$)/.test(mediaType);
}

function asJson(value: unknown): JsonValue {
  return z
    .json()
    .catch(String(value))
    .parse(value ?? null);
}

/** The message of a failed result: its text, and the types of its media. */
export function failureMessage(result: McpResult): string {
  const parts = (result.content ?? []).map((given) => {
    const shown = contentPart(given);
    return "text" in shown ? shown.text : `[${mediaOf(given)?.type ?? "resource"}]`;
  });
  const text = [...parts, untoldContent(result)?.text ?? ""].join("\n").trim();
  return text === "" ? "The tool failed and did not say why." : text;
}

interface ToolFailure {
  readonly details: { readonly result: McpResult };
}

const failureSchema: z.ZodType<ToolFailure> = z.looseObject({
  code: z.literal("MCP_TOOL_FAILED"),
  details: z.looseObject({ result: mcpResultSchema }),
});

/**
 * All content of a failed result with media, after a line that marks it as a failure. Undefined for all other
 * errors, whose message is enough.
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

// Finds structured content of a result that its text content does not repeat. Pure.

/** Fields in which the reference servers and FastMCP wrap values that are not objects. */
const WRAPPERS: ReadonlySet<string | undefined> = new Set(["content", "result"]);

/** JSON, unless the content repeats it or a wrapped value: by the protocol, a server also sends it as JSON text. */
function untoldContent({ content, structuredContent }: McpResult): ReadJson | undefined {
  if (!isGiven(structuredContent)) return undefined;
  return isRepeated(structuredContent, content ?? []) ? undefined : readJson(structuredContent);
}

function isRepeated(structured: unknown, content: readonly unknown[]): boolean {
  if (content.some((part) => equals(part, structured))) return true;
  if (typeof structured !== "object" || structured === null) return false;
  const [[name, wrapped] = [], ...others] = Object.entries(structured);
  if (!WRAPPERS.has(name) || others.length > 0 || content.length === 0) return false;
  if (content.length === 1 && equals(content[0], wrapped)) return true;
  return (
    Array.isArray(wrapped) &&
    wrapped.length === content.length &&
    wrapped.every((one, index) => equals(content[index], one))
  );
}

function equals(part: unknown, value: unknown): boolean {
  if (isDeepStrictEqual(part, value)) return true;
  const text = textOf(part);
  return text !== undefined && (text === value || isDeepStrictEqual(parsedJson(text), value));
}

// Takes media out of JSON: base64 and `data:` URLs become files, so that a model sees images. Pure.

interface FoundMedium {
  readonly mediaType: string;
  readonly data: string;
}

interface ReadJson {
  /** JSON with a note instead of each file. */
  readonly text: string;
  readonly media: readonly FoundMedium[];
}

/** Fewest characters of an image, sound or document, and of any other content, that becomes a file. */
const SHORTEST_MEDIUM = 1024;
const SHORTEST = 5464;

const shownKinds = /^(?:image|audio|video)\/|^application\/pdf$/;

function readJson(value: unknown): ReadJson {
  const media: FoundMedium[] = [];
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    const medium = typeof inner === "string" ? mediumIn(inner) : undefined;
    if (medium === undefined) return inner;
    media.push(medium);
    return `[file ${media.length} behind this text]`;
  });
  return { text, media };
}

function mediumIn(text: string): FoundMedium | undefined {
  // A recorded result refers to its blob, which has a type.
  if (resemblesReference(text)) return { mediaType: UNKNOWN_TYPE, data: text };
  if (text.length < SHORTEST_MEDIUM) return undefined;
  const found = dataUrlContent(text);
  const content = found?.content ?? certainBase64(text);
  if (content === undefined) return undefined;
  const mediaType = found?.declared ?? detectMediaType({ data: content }) ?? UNKNOWN_TYPE;
  const isFile = shownKinds.test(mediaType) || text.length >= SHORTEST;
  if (!isFile || isTextType(mediaType)) return undefined;
  return { mediaType, data: base64Of(content) };
}
