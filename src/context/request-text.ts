/** The requests of users as text, to be repeated in a summary. Pure. */

import { cutText, type HistoryItem, type UserItem } from "../projections/index.ts";
import type { PlanBudget } from "./compaction-strategy.ts";

/** The share of the window's messages that requests may take word by word. */
const WHOLE_SHARE = 0.5;
/** The share that longer requests are cut to, all together. */
const CUT_SHARE = 0.25;
/** The share of a cut text that is its beginning. */
const HEAD_SHARE = 0.75;

/** The text of a message, with the names of its files. */
export function requestText({ content }: UserItem): string {
  if (typeof content === "string") return content;
  return content
    .map((part) =>
      part.type === "text" ? part.text : `[file: ${part.filename ?? part.mediaType}]`,
    )
    .join("\n");
}

/** Requests of earlier turns that are too long for the window are cut to their beginning and end. */
export function requestTexts(
  requests: readonly UserItem[],
  running: number,
  budget: PlanBudget | undefined,
): readonly string[] {
  const { windowTokens } = budget ?? {};
  const old = requests.filter(({ turn }) => turn !== running).map(requestText);
  if (budget === undefined || windowTokens === undefined || old.length === 0)
    return requests.map(requestText);
  const size = budget.meter.text(old.join("\n")).text * budget.factor;
  const isShort = size <= WHOLE_SHARE * windowTokens;
  const share = isShort ? Infinity : (CUT_SHARE * windowTokens) / old.length;
  return requests.map((one) =>
    one.turn === running ? requestText(one) : textWithin(requestText(one), share, budget),
  );
}

/** A text, cut to its beginning and its end if it has more than `most` tokens. */
export function textWithin(
  text: string,
  most: number,
  { meter, factor }: Pick<PlanBudget, "meter" | "factor">,
): string {
  const size = meter.text(text).text * factor;
  if (size <= most) return text;
  const characters = Math.floor((text.length * most) / size);
  const head = Math.floor(characters * HEAD_SHARE);
  return cutText(text, { head, tail: characters - head, call: "" });
}

/** The first message, or several that were delivered together. */
export function originalRequests(items: readonly HistoryItem[]): readonly UserItem[] {
  const first = items.findIndex(isUser);
  if (first === -1) return [];
  const position = items[first]?.position;
  const end = items.findIndex((item, index) => index > first && item.position !== position);
  return items.slice(first, end === -1 ? undefined : end).filter(isUser);
}

/** All messages of users in the newest turn that has one, up to a position. */
export function latestRequests(
  items: readonly HistoryItem[],
  position: number,
): readonly UserItem[] {
  const requests: UserItem[] = [];
  let turn = 0;
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item === undefined || item.turn < turn) break;
    if (!isUser(item) || item.position > position) continue;
    turn = item.turn;
    requests.push(item);
  }
  return requests.toReversed();
}

function isUser(item: HistoryItem): item is UserItem {
  return item.kind === "user";
}
