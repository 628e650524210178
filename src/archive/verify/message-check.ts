/** Law 5: a message is accepted once, and then delivered once, withdrawn once, or still waiting. */

import type { SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";
import { noFaults, type Check } from "./check.ts";

type Status = "waiting" | "delivered" | "withdrawn";

export function messageCheck(): Check {
  const statuses = new Map<string, Status>();

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

    onEvent(event: SessionEvent) {
      switch (event.type) {
        case "message.queued": {
          const { id } = event.data;
          const isKnown = statuses.has(id);
          statuses.set(id, "waiting");
          return isKnown ? [`${id} is accepted twice`] : noFaults;
        }
        case "message.delivered":
          return changeStatus(event.data.ids, "delivered");
        case "message.withdrawn":
          return changeStatus(event.data.ids, "withdrawn");
        default:
          return noFaults;
      }
    },

    onEnd({ queue, history }: SessionState) {
      const idsOf = (status: Status): readonly string[] =>
        [...statuses].flatMap(([id, current]) => (current === status ? [id] : []));
      const shown = queue.waiting.map(({ id }) => id).join();
      const waiting = idsOf("waiting").join();
      const delivered = history.items.flatMap((item) => (item.kind === "user" ? [item.id] : []));
      return [
        ...(shown === waiting ? [] : [`the queue shows ${shown}, and ${waiting} wait`]),
        ...(delivered.toSorted().join() === idsOf("delivered").toSorted().join()
          ? []
          : ["the history does not show the delivered messages, each once"]),
      ];
    },
  };
}
