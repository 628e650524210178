/** What users asked for, as text that can stand for their messages. */

import type { HistoryItem, UserItem } from "../projections/index.ts";

/** The words of a message; files by their names. */
export function requestText({ content }: UserItem): string {
  if (typeof content === "string") return content;
  return content
    .map((part) =>
      part.type === "text" ? part.text : `[file: ${part.filename ?? part.mediaType}]`,
    )
    .join("\n");
}

/** What the session began with: one message, or those that were delivered together. */
export function originalRequests(items: readonly HistoryItem[]): readonly UserItem[] {
  const asked = items.filter((item) => item.kind === "user");
  return asked.filter(({ position }) => position === asked[0]?.position);
}

/**
 * What the newest turn that users spoke in was asked, up to a position: its request and what was
 * said while it ran.
 */
export function latestRequests(
  items: readonly HistoryItem[],
  position: number,
): readonly UserItem[] {
  const asked = items.filter(
    (item): item is UserItem => item.kind === "user" && item.position <= position,
  );
  const turn = asked.at(-1)?.turn;
  return asked.filter((item) => item.turn === turn);
}
