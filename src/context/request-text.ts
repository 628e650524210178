/** What users asked for, as text that can stand for their messages. */

import { cutText, type HistoryItem, type UserItem } from "../projections/index.ts";
import type { PlanBudget } from "./compaction-strategy.ts";

/** Of what messages may have at most, what requests may take that are repeated word by word. */
const WHOLE_SHARE = 0.5;
/** Of the same, what longer ones are cut to, all together. */
const CUT_SHARE = 0.25;
/** Of a text that is cut, what is its beginning. */
const HEAD_SHARE = 0.75;

/** The words of a message; files by their names. */
export function requestText({ content }: UserItem): string {
  if (typeof content === "string") return content;
  return content
    .map((part) =>
      part.type === "text" ? part.text : `[file: ${part.filename ?? part.mediaType}]`,
    )
    .join("\n");
}

/**
 * The words of several messages, to be repeated: word by word, unless they were said before the turn
 * that runs and the model has no room for them beside it. Then they are shown by beginning and end.
 */
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

/** A text by its beginning and its end, where it has more tokens than it may. */
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

/** What the session began with: one message, or those that were delivered together. */
export function originalRequests(items: readonly HistoryItem[]): readonly UserItem[] {
  const first = items.findIndex(isUser);
  if (first === -1) return [];
  const position = items[first]?.position;
  const end = items.findIndex((item, index) => index > first && item.position !== position);
  return items.slice(first, end === -1 ? undefined : end).filter(isUser);
}

/**
 * What the newest turn that users spoke in was asked, up to a position: its request and what was
 * said while it ran.
 */
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
