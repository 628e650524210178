/** Law 5: a message is accepted once, and then delivered once, withdrawn once, or still waiting. */

import type { SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";
import { nothing, type Check } from "./check.ts";

type Fate = "waiting" | "delivered" | "withdrawn";

export function messageCheck(): Check {
  const fates = new Map<string, Fate>();

  function met(ids: readonly string[], fate: Fate): readonly string[] {
    return ids.flatMap((id) => {
      const before = fates.get(id);
      fates.set(id, fate);
      return before === "waiting"
        ? []
        : [`${id} is ${fate}, and was ${before ?? "never accepted"}`];
    });
  }

  return {
    rule: "messages",

    see(event: SessionEvent) {
      switch (event.type) {
        case "message.queued": {
          const { id } = event.data;
          const isKnown = fates.has(id);
          fates.set(id, "waiting");
          return isKnown ? [`${id} is accepted twice`] : nothing;
        }
        case "message.delivered":
          return met(event.data.ids, "delivered");
        case "message.withdrawn":
          return met(event.data.ids, "withdrawn");
        default:
          return nothing;
      }
    },

    end({ queue, history }: SessionState) {
      const of = (fate: Fate): readonly string[] =>
        [...fates].flatMap(([id, its]) => (its === fate ? [id] : []));
      const [shown, waiting] = [queue.waiting.map(({ id }) => id).join(), of("waiting").join()];
      const delivered = history.items.flatMap((item) => (item.kind === "user" ? [item.id] : []));
      return [
        ...(shown === waiting ? [] : [`the queue shows ${shown}, and ${waiting} wait`]),
        ...(delivered.toSorted().join() === of("delivered").toSorted().join()
          ? []
          : ["the history does not show the delivered messages, each once"]),
      ];
    },
  };
}
