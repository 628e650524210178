/** Whether a model says anything: reasoning and sources alone are nothing to a person who waits for an answer. Pure. */

import type { SessionEvent } from "./catalogue.ts";

export function saysSomething({ type, data }: SessionEvent): boolean {
  switch (type) {
    case "part.text-delta":
      return !isBlank(data.text);
    case "part.tool-call":
    case "part.file":
    case "part.custom":
      return true;
    case "part.tool-result":
    case "part.tool-error":
      return data.providerExecuted === true;
    default:
      return false;
  }
}

export function isBlank(text: string): boolean {
  return text.trim() === "";
}
