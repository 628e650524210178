/** The first page: what to look at in this store. */

import { useSelector } from "@xstate/store-react";
import { sessionsStore } from "../data/sessions.ts";
import type { ListedSession } from "../data/types.ts";
import { Blank } from "../parts/loading.tsx";
import { WhoPays } from "../sessions/who-pays.tsx";
import { go, type Place } from "./place.ts";

interface Suggestion {
  readonly title: string;
  readonly about: string;
  readonly place: Place;
}

/** Pure. At most one for each kind of thing that there is to see. */
function suggestionsOf(sessions: readonly ListedSession[]): readonly Suggestion[] {
  const at = (session: string, view: "chat" | "prompt" | "events"): Place => ({
    page: "session",
    session,
    view,
  });
  const nameOf = ({ title, session }: ListedSession): string => (title === "" ? session : title);
  const made: Suggestion[] = [];
  const waiting = sessions.find(({ status }) => status === "awaiting-approval");
  if (waiting !== undefined)
    made.push({
      title: "A call waits for your answer",
      about: nameOf(waiting),
      place: at(waiting.session, "chat"),
    });
  const longest = sessions.toSorted((one, other) => other.steps - one.steps)[0];
  if (longest !== undefined && longest.steps > 0)
    made.push({
      title: "See exactly what a step was sent, and what changed since the one before",
      about: nameOf(longest),
      place: at(longest.session, "prompt"),
    });
  const fork = sessions.find(({ forkedFrom }) => forkedFrom !== undefined);
  if (fork?.forkedFrom !== undefined)
    made.push({
      title: "Compare a fork with its origin, step by step",
      about: nameOf(fork),
      place: { page: "compare", left: fork.forkedFrom.session, right: fork.session },
    });
  const other = sessions.find((one) => one !== waiting && one !== longest && one !== fork);
  if (other !== undefined)
    made.push({
      title: "Walk through every event, and play the recording",
      about: nameOf(other),
      place: at(other.session, "events"),
    });
  return made;
}

export function Welcome() {
  const sessions = useSelector(sessionsStore, ({ context }) => context.sessions);
  const suggestions = suggestionsOf(sessions);
  return (
    <Blank title="Choose a session" isPage>
      <p>
        Each session is a log of events. Open one to read its conversation, walk through its time,
        and see exactly what the model was sent.
      </p>
      {suggestions.length > 0 && (
        <ul className="suggestions" aria-label="To begin with">
          {suggestions.map(({ title, about, place }) => (
            <li key={title}>
              <button type="button" onClick={() => go(place)}>
                <b>{title}</b>
                <span className="dim" dir="auto">
                  {about}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <WhoPays />
      <p>
        <kbd>/</kbd> searches, <kbd>?</kbd> lists all keys.
      </p>
    </Blank>
  );
}
