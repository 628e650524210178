/** Messages of a prompt as the page shows them at first: megabytes take it seconds, and are asked for one by one. Pure. */

import type { ModelMessage } from "ai";
import type { PromptChange } from "../../projections/index.ts";

/** Of one part of a message, in characters of its JSON. */
const MOST = 10_000;
const MOST_ENTRIES = 100;
/** What is kept once the part has its length: the names of its types. */
const FEW_NAMES = 10;
const SHORT = 50;

/** `characters`: of the whole content, if parts of it are left out. */
export type CutMessage = ModelMessage & { readonly characters?: number };

export function cutMessage(message: ModelMessage): CutMessage {
  const { content } = message;
  const parts: readonly unknown[] = typeof content === "string" ? [content] : content;
  const lengths = parts.map((part) => JSON.stringify(part).length);
  if (lengths.every((length) => length <= MOST)) return message;
  const short = typeof content === "string" ? cutJson(content) : content.map(cutJson);
  const characters = lengths.reduce((sum, length) => sum + length, 0);
  // The page shows any JSON.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...message, content: short, characters } as CutMessage;
}

export function cutChange(change: PromptChange): PromptChange {
  return change.kind === "changed"
    ? { ...change, before: cutMessage(change.before), after: cutMessage(change.after) }
    : { ...change, message: cutMessage(change.message) };
}

/** The beginning of each text, list and object, until there are enough characters. */
function cutJson(value: unknown): unknown {
  let left = MOST;
  const cut = (_: string, inner: unknown): unknown => {
    if (typeof inner === "string") {
      const most = Math.max(SHORT, left);
      left -= inner.length;
      return inner.length > most ? `${inner.slice(0, most)}…` : inner;
    }
    left -= 4;
    if (typeof inner !== "object" || inner === null) return inner;
    if (Array.isArray(inner)) return inner.slice(0, left > 0 ? MOST_ENTRIES : 0);
    const most = left > 0 ? MOST_ENTRIES : FEW_NAMES;
    return Object.fromEntries(Object.entries(inner).slice(0, most));
  };
  return JSON.parse(JSON.stringify(value, cut));
}
