/** Whether structured content says something that the content beside it does not. Pure. */

import { isDeepStrictEqual } from "node:util";
import { readJson, type ReadJson } from "./media-in-json.ts";
import { isGiven, textOf, type McpResult } from "./mcp-result.ts";

/** Fields in which servers wrap what is no object: the reference servers, and those of FastMCP. */
const WRAPPERS: ReadonlySet<string | undefined> = new Set(["content", "result"]);

/**
 * Structured content as JSON, unless the content has it: by the protocol a server sends it as JSON in a
 * text too. Also told is what is wrapped into a field that says nothing: the whole content, or its parts.
 */
export function untoldContent({ content, structuredContent }: McpResult): ReadJson | undefined {
  if (!isGiven(structuredContent)) return undefined;
  return isTold(structuredContent, content ?? []) ? undefined : readJson(structuredContent);
}

function isTold(structured: unknown, content: readonly unknown[]): boolean {
  if (content.some((part) => says(part, structured))) return true;
  if (typeof structured !== "object" || structured === null) return false;
  const [[name, wrapped] = [], ...others] = Object.entries(structured);
  if (!WRAPPERS.has(name) || others.length > 0 || content.length === 0) return false;
  if (content.length === 1 && says(content[0], wrapped)) return true;
  // Which of several it is would be lost.
  return (
    Array.isArray(wrapped) &&
    wrapped.length === content.length &&
    wrapped.every((one, index) => says(content[index], one))
  );
}

function says(part: unknown, value: unknown): boolean {
  if (isDeepStrictEqual(part, value)) return true;
  const text = textOf(part);
  return text !== undefined && (text === value || isDeepStrictEqual(jsonIn(text), value));
}

/** Undefined for text that is no JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
