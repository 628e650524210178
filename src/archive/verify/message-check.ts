/** Law 5: a message is accepted once, and then delivered, withdrawn, or still waiting. A rewind may rerun it. */

import type { SessionEvent } from "../../events/index.ts";
import { allWaiting } from "../../projections/index.ts";
import { canRewind, type SessionState } from "../../state/index.ts";
import { noFaults, type Check } from "./check.ts";

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
        ...(shown === waiting ? [] : [`the queue shows ${shown}, and ${waiting} wait`]),
        ...(delivered.toSorted().join() === recorded.toSorted().join()
          ? []
          : ["the history does not show each message as often as it was delivered"]),
      ];
    },
  };
}
