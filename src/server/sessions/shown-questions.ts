/** Questions to people and clients as a client sees them: without the inputs of tools and figures that are hidden. Pure. */

import type { Hidden } from "../../ui/index.ts";

/** An answer whose fields have questions, each alone or in a list. */
export function withShownQuestions(answer: object, hide: readonly Hidden[]): object {
  const entries = Object.entries(answer).filter(
    ([name]) => name !== "budget" || !hide.includes("usage"),
  );
  const isWhole = !hide.includes("tool-data");
  return Object.fromEntries(entries.map(([name, value]) => [name, isWhole ? value : shown(value)]));
}

function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  const isQuestion = typeof value === "object" && value !== null && "input" in value;
  return isQuestion ? { ...value, input: {} } : value;
}
