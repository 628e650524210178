/** The messages that wait, in the order of their delivery. */

import { client } from "../data/client.ts";
import { give } from "../data/give.ts";
import type { StateAt } from "../data/types.ts";
import { oneLine } from "../data/words.ts";

type Queued = StateAt["queue"][number];

export function Queue({
  session,
  queue,
  refusal,
}: {
  readonly session: string;
  readonly queue: readonly Queued[];
  readonly refusal: string | undefined;
}) {
  if (queue.length === 0) return null;
  const open = client.session(session);
  return (
    <ol className="queue" aria-label="Waiting messages">
      {queue.map((message) => {
        const other = message.delivery === "steer" ? "follow-up" : "steer";
        return (
          <li key={message.id}>
            <span className="pill">
              {message.delivery === "steer" ? "↳ next step" : "⏎ next turn"}
            </span>
            <span className="queued-text" dir="auto">
              {oneLine(textOf(message), 120)}
            </span>
            {refusal === undefined && (
              <>
                <button
                  type="button"
                  className="link"
                  onClick={() => void give(() => open.reschedule(message.id, other))}
                >
                  {other === "steer" ? "steer" : "after the turn"}
                </button>
                <button
                  type="button"
                  className="link"
                  onClick={() => void give(() => open.withdraw(message.id))}
                >
                  withdraw
                </button>
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function textOf({ content }: Queued): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => (part.type === "text" ? part.text : (part.filename ?? part.mediaType)))
    .join(" ");
}
