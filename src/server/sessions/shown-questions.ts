/** Questions to people and clients as a client sees them: without the inputs of tools where those are hidden. Pure. */

import type { Hidden } from "../../ui/index.ts";

/** An answer whose fields have questions, each alone or in a list. */
export function withShownQuestions(answer: object, hide: readonly Hidden[]): object {
  if (!hide.includes("tool-data")) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, shown(value)]));
}

function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  const isQuestion = typeof value === "object" && value !== null && "input" in value;
  return isQuestion ? { ...value, input: {} } : value;
}
