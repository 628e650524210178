/**
 * Law 14: the page, the history and the next prompt of the active branch agree about which turns there are, and
 * which messages began them. Compared after each rewind and at the end: in between, all three only grow.
 */

import type { SessionEvent } from "../../events/index.ts";
import { coveredBy, plainEntries } from "../../projections/index.ts";
import { canRewind, isInTurn, type SessionState } from "../../state/index.ts";
import { activeMessages, uiMessages, type UIMessagesState } from "../../ui/index.ts";
import { noFaults, type Check } from "./check.ts";

/** The events that decide which messages a page has. A rewind that names no boundary changes nothing. */
function isOfPage(event: SessionEvent, before: SessionState): boolean {
  if (event.type === "session.rewound") return canRewind(before, event);
  return event.type.startsWith("message.") || event.type.startsWith("turn.");
}

export function pageCheck(): Check {
  const { initial, fold } = uiMessages({ session: "" });
  let page = initial;
  let isRewound = false;
  return {
    rule: "pages",
    onEvent(event, before) {
      const found = isRewound ? differences(page, before) : noFaults;
      isRewound = event.type === "session.rewound";
      if (isOfPage(event, before)) page = fold(page, event);
      return found;
    },
    onEnd: (last) => differences(page, last),
  };
}

function differences(page: UIMessagesState, state: SessionState): readonly string[] {
  const shown = activeMessages(page)
    .map(({ id }) => id)
    .join();
  const known = turnsOfHistory(state).join();
  const missing = missingInPrompt(state);
  return [
    ...(shown === known ? [] : [`the page shows ${shown}, and the history has ${known}`]),
    ...(missing.length === 0 ? [] : [`the prompt lacks ${missing.join()}`]),
  ];
}

/** The messages that were delivered before the first step of their turn, and the replies. */
function turnsOfHistory({ history: { items, open }, machine }: SessionState): readonly string[] {
  const ids: string[] = [];
  let [turn, hasStep] = [0, false];
  const begin = (next: number): void => {
    if (turn !== 0) ids.push(`reply-${turn}`);
    [turn, hasStep] = [next, false];
  };
  for (const item of open === undefined ? items : [...items, open]) {
    if (item.turn !== turn) begin(item.turn);
    if (item.kind === "step") hasStep = true;
    if (item.kind === "user" && !hasStep) ids.push(item.id);
  }
  const { turn: running } = machine.context;
  if (isInTurn(machine) && running !== turn) begin(running);
  begin(0);
  return ids;
}

/** The delivered messages that are neither in the next prompt nor covered by a summary. */
function missingInPrompt({ history, view }: SessionState): readonly string[] {
  const sent = new Set(plainEntries(history, view).map(({ origin }) => origin.position));
  return history.items.flatMap((item) =>
    item.kind === "user" &&
    !sent.has(item.position) &&
    coveredBy(view.compactions, item.position) === undefined
      ? [item.id]
      : [],
  );
}
