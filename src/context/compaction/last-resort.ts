/**
 * Compactions for prompts that no strategy makes small enough, so that no message can end a session: they leave
 * out messages that were too long to be answered, and finally everything before the running turn.
 */

import {
  isTooLarge,
  overflowOf,
  type ContextView,
  type HistoryState,
  type UserItem,
} from "../../projections/index.ts";
import type { CompactionPlan, CompactionStrategy, PlanBudget } from "./compaction-strategy.ts";
import { cuttable, tokensFrom, type Cuttable, messageCount, userItems } from "./shown-units.ts";
import { hasFiles, isShort, isWhole, requestText, textWithin } from "./request-text.ts";
import { runningRequest } from "./running-request.ts";

/** The most tokens that are quoted from hidden messages. */
const QUOTED_TOKENS = 300;
/** The same, as a share of the tokens that the window has for messages. */
const QUOTED_SHARE = 1 / 16;
const MOST_QUOTED = 3;

const NOT_SHOWN = "[Earlier messages are not shown any more: they do not fit beside what follows.";

/** Leaves out unanswered messages of earlier turns that do not fit or were refused as too long. */
export const unsentMessages: CompactionStrategy = {
  name: "unsent-messages",
  forgetsRequest: true,
  plan(history, view, budget) {
    const prompt = cuttable(history, view, budget);
    const end = startOfTurn(prompt, history.turn);
    const most = (budget?.windowTokens ?? Number.POSITIVE_INFINITY) - tokensFrom(prompt, end);
    // Words that the known window has a place for stay beside this turn: the strategy shortens its steps.
    const isToBlame = (index: number): boolean =>
      budget?.windowTokens === undefined ||
      userItems(prompt.units.slice(index, index + 1)).some(
        (one) => hasFiles(one) || !isWhole(one, budget),
      );
    const isTooLong = (index: number): boolean =>
      isUnanswered(prompt, index) &&
      isToBlame(index) &&
      ((prompt.tokens[index] ?? 0) > most || wasRefused(history, prompt.units[index]?.turn));
    let last = end - 1;
    while (last >= 0 && !isTooLong(last)) last--;
    if (last < 0) return undefined;
    let first = last;
    for (let index = last - 1; hasNoReply(prompt, index); index--) {
      if (isTooLong(index)) first = index;
    }
    // With them go units without messages: an empty step, the end of a turn.
    while (last + 1 < end && !isUser(prompt, last + 1) && hasNoReply(prompt, last + 1)) last++;
    const messages = userItems(prompt.units.slice(first, last + 1));
    const which =
      messages.length === 1 ? "A message of the user is" : `${messages.length} messages are`;
    const note = `[${which} not shown here: the prompt was too long, and no reply was given.`;
    return covering(prompt, first, last + 1, `${note}${quoted(messages, budget)}`);
  },
};

/** Leaves out all before the running turn. The runtime adds what of the running request is among it. */
export const onlyThisTurn: CompactionStrategy = {
  name: "only-this-turn",
  plan(history, view, budget) {
    const running = runningRequest(history.items);
    return thisTurn(history, view, budget, (message) => !running.includes(message));
  },
};

/** Leaves out all but the newest step, where the running request does not fit beside the whole turn. */
export const onlyTheNewest: CompactionStrategy = {
  name: "only-the-newest",
  plan(history, view, budget) {
    const prompt = cuttable(history, view, budget);
    const end = prompt.units.length - (prompt.openTokens > 0 ? 0 : 1);
    return covering(prompt, 0, end, `${NOT_SHOWN}]`);
  },
};

/** The turn alone where the running request does not fit either: it is quoted in part. */
export const onlyThisTurnAtLast: CompactionStrategy = {
  name: "only-this-turn",
  forgetsRequest: true,
  plan: (history, view, budget) => thisTurn(history, view, budget, () => true),
};

function thisTurn(
  history: HistoryState,
  view: ContextView,
  budget: PlanBudget | undefined,
  isQuoted: (message: UserItem) => boolean,
): CompactionPlan | undefined {
  const prompt = cuttable(history, view, budget);
  const end = startOfTurn(prompt, history.turn);
  if (end === 0) return undefined;
  const asked = runningRequest(history.items, prompt.units[end - 1]?.to ?? 0);
  const long = asked.filter((one) => !isShort(one));
  const messages = (long.length === 0 ? asked.slice(-1) : long).filter(isQuoted);
  return covering(prompt, 0, end, `${NOT_SHOWN}${quoted(messages, budget)}`);
}

/** Tokens that no compaction can remove: the open step, else the newest unit. */
export function newestTokens(history: HistoryState, view: ContextView, budget: PlanBudget): number {
  const { tokens, openTokens } = cuttable(history, view, budget);
  return openTokens > 0 ? openTokens : (tokens.at(-1) ?? 0);
}

function startOfTurn({ units }: Cuttable, turn: number): number {
  const last = units.findLastIndex(({ items }) => (items.at(-1)?.turn ?? 0) < turn);
  return last + 1;
}

/** Whether a unit has no output of a model: it has messages of users, or shows nothing. */
function hasNoReply({ units }: Cuttable, index: number): boolean {
  const unit = units[index];
  if (unit === undefined || unit.kind === "summary") return false;
  return unit.kind === "user" || messageCount(unit) === 0;
}

function isUser({ units }: Cuttable, index: number): boolean {
  return units[index]?.kind === "user";
}

function isUnanswered(prompt: Cuttable, index: number): boolean {
  if (!isUser(prompt, index)) return false;
  const turn = prompt.units[index]?.turn;
  for (let next = index + 1; prompt.units[next]?.turn === turn; next++) {
    if (!hasNoReply(prompt, next)) return false;
  }
  return true;
}

function wasRefused({ items }: HistoryState, turn: number | undefined): boolean {
  const end = items.findLast((item) => item.kind === "turn-end" && item.turn === turn);
  if (end?.kind !== "turn-end" || end.error === undefined) return false;
  return overflowOf(end.error) !== undefined || isTooLarge(end.error);
}

/** The end of a note: the beginning and the end of the newest messages. */
function quoted(messages: readonly UserItem[], budget: PlanBudget | undefined): string {
  const newest = messages.slice(-MOST_QUOTED);
  if (newest.length === 0 || budget === undefined) return "]";
  const most = Math.min(QUOTED_TOKENS, QUOTED_SHARE * (budget.windowTokens ?? Infinity));
  const texts = newest.map((one) => textWithin(requestText(one), most / newest.length, budget));
  const which = newest.length === messages.length ? "" : `The last ${newest.length}, `;
  return ` ${which}in part:]\n\n${texts.join("\n\n")}`;
}

/** Unlike in `cut.ts`, summaries alone may be covered again. */
function covering(
  { units }: Cuttable,
  first: number,
  end: number,
  summary: string,
): CompactionPlan | undefined {
  const [from, to] = [units[first]?.from, units[end - 1]?.to];
  return from === undefined || to === undefined ? undefined : { covers: { from, to }, summary };
}
