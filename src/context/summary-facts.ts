/** What the log knows for certain of a stretch of the conversation: computed, never asked for. */

import type { CallPart, HistoryItem } from "../projections/index.ts";

/** Names that are listed, the newest ones. */
const MOST_NAMES = 40;
/** Keys of inputs whose values name what a call was about. */
const NAMING = /^(path|file|filename|file_?path|dir|directory|folder|url|uri|id|.*_id|.*Id)$/;
/** Longer values are content, not names. */
const LONGEST_NAME = 200;

/** The tools that were called and the files, addresses and ids that their calls named; empty without calls. */
export function knownFacts(items: readonly HistoryItem[]): string {
  const calls = items.flatMap((item) =>
    item.kind === "step" ? item.parts.filter((part): part is CallPart => part.kind === "call") : [],
  );
  if (calls.length === 0) return "";
  const names = [...new Set(calls.toReversed().flatMap(({ input }) => namesIn(input)))];
  const shown = names.slice(0, MOST_NAMES);
  const left = names.length - shown.length;
  return [
    `Tools called: ${toolCounts(calls)}.`,
    ...(shown.length === 0
      ? []
      : [
          `Named in calls: ${shown.map((name) => `\`${name}\``).join(", ")}${left === 0 ? "" : ` and ${left} more`}.`,
        ]),
  ].join("\n");
}

function toolCounts(calls: readonly CallPart[]): string {
  return [...Map.groupBy(calls, ({ toolName }) => toolName)]
    .map(([name, all]) => {
      const failed = all.filter(({ outcome }) => outcome.status === "failed").length;
      return `${name} (${all.length}${failed === 0 ? "" : `, ${failed} failed`})`;
    })
    .join(", ");
}

function namesIn(input: CallPart["input"]): readonly string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  return Object.entries(input).flatMap(([key, value]) =>
    NAMING.test(key) && typeof value === "string" && value !== "" && value.length <= LONGEST_NAME
      ? [value]
      : [],
  );
}
