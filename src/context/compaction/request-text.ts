/** The requests of users as text, to be repeated in a summary. Pure. */

import { cutText, type HistoryItem, type UserItem } from "../../projections/index.ts";
import type { PlanBudget } from "./compaction-strategy.ts";
import { textTokens } from "../estimate/text-tokens.ts";

/** The share of the window's messages that requests of earlier turns may take word by word. */
const WHOLE_SHARE = 0.6;
/** The share that longer requests are cut to, all together. */
const CUT_SHARE = 0.25;
/** The least tokens of a cut request: older ones are left out. */
const LEAST_TOKENS = 40;
/** The share of a cut text that is its beginning. */
const HEAD_SHARE = 0.75;
/** The most tokens of a short message, in any language: a sentence at most. */
const SHORT_TOKENS = 24;
/** The most tokens of all short messages of earlier turns, and the share of the window. */
const SHORT_MOST = 500;
const SHORT_SHARE = 1 / 8;

/** The text of a message, with the names of its files. */
export function requestText({ content }: UserItem): string {
  if (typeof content === "string") return content;
  return content
    .map((part) =>
      part.type === "text" ? part.text : `[file: ${part.filename ?? part.mediaType}]`,
    )
    .join("\n");
}

/** Whether a message may only ask to continue the work, such as `Go on.` or `yes, the second`. */
export function isShort(message: UserItem): boolean {
  return !hasFiles(message) && textTokens(requestText(message)) <= SHORT_TOKENS;
}

export function hasFiles({ content }: UserItem): boolean {
  return typeof content !== "string" && content.some(({ type }) => type !== "text");
}

/** Whether a message alone has its place in the window, word by word, beside the work on it. */
export function isWhole(message: UserItem, budget: PlanBudget | undefined): boolean {
  const { windowTokens } = budget ?? {};
  if (budget === undefined || windowTokens === undefined) return true;
  return sizeOf([message], budget) <= WHOLE_SHARE * windowTokens;
}

/**
 * The text of each request. Of the short ones of earlier turns the newest are kept; longer ones that take too
 * much of the window together are cut to their beginning and end.
 */
export function requestTexts(
  requests: readonly UserItem[],
  running: number,
  budget: PlanBudget | undefined,
): ReadonlyMap<UserItem, string> {
  const window = budget?.windowTokens ?? Number.POSITIVE_INFINITY;
  const old = requests.filter(({ turn }) => turn !== running);
  const long = old.filter((one) => !isShort(one));
  const short = newestWithin(old.filter(isShort), Math.min(SHORT_MOST, SHORT_SHARE * window));
  const kept = new Map([
    ...short.map((one) => [one, requestText(one)] as const),
    ...longTexts(long, window, budget),
  ]);
  return new Map(
    requests.flatMap((one) => {
      const text = one.turn === running ? requestText(one) : kept.get(one);
      return text === undefined ? [] : [[one, text] as const];
    }),
  );
}

/** One that is too long by itself does not shorten the others. */
function longTexts(
  long: readonly UserItem[],
  window: number,
  budget: PlanBudget | undefined,
): readonly (readonly [UserItem, string])[] {
  if (budget === undefined) return long.map((one) => [one, requestText(one)]);
  const fitting = long.filter((one) => isWhole(one, budget));
  const whole = sizeOf(fitting, budget) <= WHOLE_SHARE * window ? fitting : [];
  const most = CUT_SHARE * window;
  const cut = long
    .filter((one) => !whole.includes(one))
    .slice(-Math.max(1, Math.floor(most / LEAST_TOKENS)));
  return [
    ...whole.map((one) => [one, requestText(one)] as const),
    ...cut.map((one) => [one, textWithin(requestText(one), most / cut.length, budget)] as const),
  ];
}

function newestWithin(requests: readonly UserItem[], most: number): readonly UserItem[] {
  let left = most;
  const first = requests.findLastIndex((one) => {
    left -= textTokens(requestText(one));
    return left < 0;
  });
  return requests.slice(first + 1);
}

function sizeOf(requests: readonly UserItem[], { meter, factor }: PlanBudget): number {
  if (requests.length === 0) return 0;
  return meter.text(requests.map(requestText).join("\n")).text * factor;
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

function isUser(item: HistoryItem): item is UserItem {
  return item.kind === "user";
}
