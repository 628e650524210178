/**
 * What the model is given of an MCP result, as content of the AI SDK: media as files, the rest as
 * text. Pure; a result that a log has kept is converted again to the same.
 */

import { detectMediaType } from "@ai-sdk/provider-utils";
import { z } from "zod";
import type { JsonValue, ModelOutput } from "../events/index.ts";
import { base64Of, called, fileData, UNKNOWN_TYPE } from "../media/index.ts";
import type { ReadJson } from "./media-in-json.ts";
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
import { untoldContent } from "./structured-content.ts";

type Content = Extract<ModelOutput, { readonly type: "content" }>["value"];
type ContentPart = Content[number];

/** For `toModelOutput` of a tool: what the model is given of a result. */
export function mcpModelOutput(output: unknown): ModelOutput {
  const { data: result = {} } = mcpResultSchema.safeParse(output);
  // Servers of the first protocol answered with any value.
  if (!isGiven(result.content) && !isGiven(result.structuredContent)) {
    return { type: "json", value: asJson(output) };
  }
  const shown: Content = (result.content ?? []).map(contentPart);
  return { type: "content", value: [...shown, ...jsonParts(untoldContent(result))] };
}

/** JSON, and behind it what stood in it for the model to see. */
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
  // A link is for the model to follow, by whatever tool it has for that.
  return textPart(JSON.stringify(given));
}

/** Where its kind is not said, its bytes may tell. */
function mediaPart({ type = "file", data, mimeType }: McpMedia): ContentPart {
  const mediaType = saidType(mimeType) ?? seenType(data);
  return mediaType === undefined
    ? textPart(`[The ${type} is not shown here: nothing says what media type it is of.]`)
    : filePart(data, mediaType);
}

function saidType(mimeType: string | null | undefined): string | undefined {
  return isGiven(mimeType) && mimeType.trim() !== "" ? mimeType : undefined;
}

function seenType(data: string): string | undefined {
  const found = fileData(data, true);
  if (found.kind !== "content") return UNKNOWN_TYPE;
  const { content, declared } = found.read();
  return declared ?? detectMediaType({ data: content });
}

/** Words in the place of what is no base64: no provider takes it, and addresses are not for a server to name. */
function filePart(data: string, mediaType: string, filename?: string): ContentPart {
  const found = fileData(data, true);
  const named = filename === undefined ? {} : { filename };
  switch (found.kind) {
    case "content": {
      // Of base64 in lines, in the alphabet of addresses or in one, the form that every provider takes.
      const isPlain = found.isTaken && !/[\s_-]/.test(data);
      const plain = isPlain ? data : base64Of(found.read().content);
      return { type: "file", mediaType, data: { type: "data", data: plain }, ...named };
    }
    case "reference":
      // Of a result that a log has kept.
      return { type: "file", mediaType, data: { type: "data", data }, ...named };
    default: {
      const why = found.kind === "broken" ? found.why : "it is no base64";
      return textPart(`[The file${called(filename)} (${mediaType}) is not shown here: ${why}.]`);
    }
  }
}

/** Text stays text with the address that it came from, however it was sent. */
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
  return filePart(blob, saidType(mimeType) ?? UNKNOWN_TYPE, uri.split("/").at(-1) ?? uri);
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

/** What a failed result says in words; of media it names the kind. */
export function failureMessage(result: McpResult): string {
  const said = (result.content ?? []).map((given) => {
    const shown = contentPart(given);
    return "text" in shown ? shown.text : `[${mediaOf(given)?.type ?? "resource"}]`;
  });
  const text = [...said, untoldContent(result)?.text ?? ""].join("\n").trim();
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
