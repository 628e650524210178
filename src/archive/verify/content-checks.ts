/** A prompt can contain each event's content. Earlier releases accepted other content, which prompts replace. */

import { contentFault, type SessionEvent } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";
import { allWaiting, coveredBy, plainEntries } from "../../projections/index.ts";
import { canRewind, type SessionState, isInTurn } from "../../state/index.ts";
import { activeMessages, uiMessages, type UIMessagesState } from "../../ui/index.ts";

export interface ContentCheck extends Check {
  /** Whether an event had content that prompts replace; prompts that were sent earlier may contain it. */
  readonly hasFound: boolean;
}

export function contentCheck(): ContentCheck {
  let hasFound = false;
  return {
    rule: "contents",
    get hasFound() {
      return hasFound;
    },
    onEvent(event) {
      const fault = contentFault(event);
      if (fault === undefined) return noFaults;
      hasFound = true;
      return [`no prompt can contain this ${event.type}: ${fault}`];
    },
  };
}

// Law 5: a message is accepted once, and then delivered, withdrawn, or still waiting. A rewind may rerun it.

type Status = "waiting" | "delivered" | "withdrawn";

export function messageCheck(): Check {
  const statuses = new Map<string, Status>();
  /** How often each message was delivered: once in each branch that runs it. */
  const deliveries = new Map<string, number>();

  function changeStatus(ids: readonly string[], status: Status): readonly string[] {
    return ids.flatMap((id) => {
      const before = statuses.get(id);
      statuses.set(id, status);
      return before === "waiting"
        ? []
        : [`${id} is ${status}, and was ${before ?? "never accepted"}`];
    });
  }

  return {
    rule: "messages",

    onEvent(event: SessionEvent, before: SessionState) {
      switch (event.type) {
        case "message.queued": {
          const { id } = event.data;
          const isKnown = statuses.has(id);
          statuses.set(id, "waiting");
          return isKnown ? [`${id} is accepted twice`] : noFaults;
        }
        case "message.delivered":
          for (const id of event.data.ids) deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
          return changeStatus(event.data.ids, "delivered");
        case "message.withdrawn":
          return changeStatus(event.data.ids, "withdrawn");
        case "session.rewound":
          if (!canRewind(before, event)) return noFaults;
          for (const id of event.data.again ?? []) statuses.set(id, "waiting");
          return noFaults;
        default:
          return noFaults;
      }
    },

    onEnd({ queue, boundaries }: SessionState) {
      const shown = allWaiting(queue)
        .map(({ id }) => id)
        .toSorted()
        .join();
      const waits = [...statuses].flatMap(([id, current]) => (current === "waiting" ? [id] : []));
      const waiting = waits.toSorted().join();
      const delivered = boundaries.items.flatMap((item) => (item.kind === "user" ? [item.id] : []));
      const recorded = [...deliveries].flatMap(([id, times]) =>
        Array.from({ length: times }, () => id),
      );
      return [
        ...(shown === waiting ? [] : [`the queue shows ${shown}, but ${waiting} wait`]),
        ...(delivered.toSorted().join() === recorded.toSorted().join()
          ? []
          : ["the history does not show each message as often as it was delivered"]),
      ];
    },
  };
}

// Law 14: the page, the history and the next prompt of the active branch agree about which turns there are, and
// which messages began them. Compared after each rewind and at the end: in between, all three only grow.

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
    ...(shown === known ? [] : [`the page shows ${shown}, but the history has ${known}`]),
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
