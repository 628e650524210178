/** Writes the next message: now, or into the queue of a turn that runs. */

import { useState } from "react";
import { useSelector } from "@xstate/store-react";
import { client } from "../data/client.ts";
import { give } from "../data/give.ts";
import { sessionsStore } from "../data/sessions.ts";
import { figure } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";
import type { Seen } from "../shell/seen.ts";
import { Queue } from "./queue.tsx";
import { Writer } from "./writer.tsx";

/** Why nothing can run; undefined if it can. */
export function useRefusal({ at }: Pick<Seen, "at">): string | undefined {
  const canRun = useSelector(sessionsStore, ({ context }) => context.canRun);
  if (canRun === false) return "Nothing can run here: start the studio with --agent <module>.";
  return at === undefined ? undefined : "This is the past. Return to the live end first.";
}

export function Composer({ seen }: { readonly seen: Seen }) {
  const { feed, state, at } = seen;
  const refusal = useRefusal(seen);
  const [delivery, setDelivery] = useState<"steer" | "follow-up">("follow-up");
  if (at !== undefined) {
    return (
      <div className="composer past-note">
        <span>You see the session as it was at position {figure(at)}.</span>
        <button type="button" onClick={() => moveIn({ position: undefined })}>
          Return to the live end <kbd>L</kbd>
        </button>
      </div>
    );
  }
  const session = client.session(feed.id);
  const status = state?.summary.status ?? "idle";
  const isBusy = status !== "idle" && status !== "closed";
  return (
    <div className="composer">
      <Queue session={feed.id} queue={state?.queue ?? []} refusal={refusal} />
      <Writer
        id="composer"
        label="Message"
        placeholder={isBusy ? "Write meanwhile: it waits in the queue" : "Write a message"}
        verb={isBusy ? "Queue" : "Run"}
        refusal={refusal}
        onSend={async (text) => {
          await session.send(text, isBusy ? { delivery } : {});
        }}
      >
        {isBusy && refusal === undefined && (
          <>
            <label className="inline">
              <select
                value={delivery}
                onChange={({ target }) =>
                  setDelivery(target.value === "steer" ? "steer" : "follow-up")
                }
              >
                <option value="follow-up">after this turn</option>
                <option value="steer">at the next step</option>
              </select>
            </label>
            <button type="button" onClick={() => void give(() => session.cancel())}>
              Cancel the turn
            </button>
          </>
        )}
      </Writer>
    </div>
  );
}
