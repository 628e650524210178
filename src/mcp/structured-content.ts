/** Finds structured content of a result that its text content does not repeat. Pure. */

import { isDeepStrictEqual } from "node:util";
import { readJson, type ReadJson } from "./media-in-json.ts";
import { isGiven, textOf, type McpResult } from "./mcp-result.ts";

/** Fields in which the reference servers and FastMCP wrap values that are not objects. */
const WRAPPERS: ReadonlySet<string | undefined> = new Set(["content", "result"]);

/** JSON, unless the content repeats it or a wrapped value: by the protocol, a server also sends it as JSON text. */
export function untoldContent({ content, structuredContent }: McpResult): ReadJson | undefined {
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
  return text !== undefined && (text === value || isDeepStrictEqual(jsonIn(text), value));
}

/** Undefined for text that is not JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
