/**
 * Whether a reply has content: reasoning and sources alone are of no use to a person who waits for an answer.
 * Pure.
 */

import type { SessionEvent } from "./catalogue.ts";

export function saysSomething({ type, data }: SessionEvent): boolean {
  switch (type) {
    case "part.text-delta":
      return !isBlank(data.text);
    case "part.tool-call":
    case "part.file":
      return true;
    case "part.custom":
      return !isReport(data.kind);
    case "part.tool-result":
    case "part.tool-error":
      return data.providerExecuted === true;
    default:
      return false;
  }
}

/** Parts in which Anthropic's client reports that a reply has begun, and which model makes it. */
const reports: ReadonlySet<string> = new Set(["anthropic.message_start", "anthropic.fallback"]);

/** Whether a custom part tells about the reply, and is nothing of it. */
export function isReport(kind: string): boolean {
  return reports.has(kind);
}

export function isBlank(text: string): boolean {
  return !/\S/.test(text);
}
