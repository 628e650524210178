/**
 * The running request, which the user waits for and no compaction may lose: the messages of the newest turn and
 * of all turns that it continues. Pure.
 */

import type { TurnEndReason } from "../../events/index.ts";
import type { ContextView, HistoryItem, HistoryState, UserItem } from "../../projections/index.ts";
import type { CompactionPlan, PlanBudget } from "./compaction-strategy.ts";
import { isShort, requestText, requestTexts } from "./request-text.ts";
import { shownUnits, userItems } from "./shown-units.ts";
import { withRequests } from "./summary-form.ts";

/** Whether a turn that ended so has done what was asked. */
const isDone: Readonly<Record<TurnEndReason, boolean>> = {
  stop: true,
  // The agent's author defined this as the end.
  "stop-condition": true,
  // The reply or the work was broken off, by a limit or by a guard.
  length: false,
  "content-filter": false,
  "max-steps": false,
  "timed-out": false,
  "out-of-budget": false,
  repeating: false,
  // A user who cancels mostly wants to correct the request and then let it continue.
  cancelled: false,
  failed: false,
  interrupted: false,
};

/**
 * The messages of users that are being worked on, oldest first; of equal ones the newest. A turn continues
 * the one before if that did not end well, or if it has no message but short ones. `position`: only messages
 * up to it.
 */
export function runningRequest(
  items: readonly HistoryItem[],
  position: number = Number.POSITIVE_INFINITY,
): readonly UserItem[] {
  const found = new Map<string, UserItem>();
  let turn = Number.POSITIVE_INFINITY;
  let continues = true;
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item === undefined) break;
    if (item.turn < turn) {
      if (found.size > 0 && !continues && endedWell(item)) break;
      turn = item.turn;
      continues = true;
    }
    if (item.kind !== "user") continue;
    continues &&= isShort(item);
    const text = requestText(item);
    if (item.position <= position && !found.has(text)) found.set(text, item);
  }
  return [...found.values()].toReversed();
}

/** By the last item of a turn. A stop without a word is no answer. */
function endedWell(last: HistoryItem): boolean {
  return last.kind === "turn-end" && isDone[last.reason] && last.empty !== true;
}

/** The plan with the running request in its text, as far as the prompt would lose it. */
export function withRunningRequest(
  plan: CompactionPlan,
  history: HistoryState,
  view: ContextView,
  budget: PlanBudget | undefined,
): CompactionPlan {
  const { covers, summary } = plan;
  const compactions = [
    ...view.compactions,
    { position: Number.MAX_SAFE_INTEGER, ...covers, summary },
  ];
  const units = shownUnits(history, { ...view, compactions });
  // By their texts: a message that was sent again is shown with any of them.
  const whole = units.filter(({ kind }) => kind !== "summary");
  const shown = new Set(userItems(whole).map(requestText));
  const texts = units.flatMap((unit) => (unit.summary === undefined ? [] : [unit.summary]));
  const requests = runningRequest(history.items);
  const repeated = requestTexts(requests, history.turn, budget);
  const lost = requests.flatMap((one) => {
    const text = repeated.get(one);
    if (text === undefined || shown.has(requestText(one))) return [];
    return texts.some((other) => has(other, text, isShort(one))) ? [] : [text];
  });
  return lost.length === 0 ? plan : { covers, summary: withRequests(summary, lost) };
}

/** A few words may be in a text by chance, so they must be a whole paragraph of it. */
function has(text: string, request: string, asParagraph: boolean): boolean {
  return asParagraph ? `\n\n${text}\n\n`.includes(`\n\n${request}\n\n`) : text.includes(request);
}
