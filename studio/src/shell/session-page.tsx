/** The page of a session: its head, its conversation, the panel of time, and the scrubber. */

import { useEffect, useMemo, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { Chat } from "../chat/chat.tsx";
import { read } from "../data/client.ts";
import { SessionFeed } from "../data/session-feed.ts";
import { stepsOf } from "../data/steps.ts";
import type { StateAt } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure } from "../data/words.ts";
import { Failure, Loading } from "../parts/loading.tsx";
import { SessionHead } from "../sessions/session-head.tsx";
import { Events } from "../time/events.tsx";
import { openedFeed } from "../time/moving.ts";
import { Prompt } from "../time/prompt.tsx";
import { Scrubber } from "../time/scrubber.tsx";
import { State } from "../time/state.tsx";
import { Steps } from "../time/steps.tsx";
import { moveIn, views, type Place, type ViewName } from "./place.ts";
import type { Seen } from "./seen.ts";

type SessionPlace = Extract<Place, { readonly page: "session" }>;

function useFeed(id: string): SessionFeed | undefined {
  const [feed, setFeed] = useState<SessionFeed>();
  useEffect(() => {
    const opened = new SessionFeed(id);
    setFeed(opened);
    openedFeed(opened);
    return () => {
      opened.close();
      openedFeed(undefined);
    };
  }, [id]);
  return feed;
}

export function SessionPage({ place }: { readonly place: SessionPlace }) {
  const feed = useFeed(place.session);
  return feed === undefined ? null : <Opened feed={feed} place={place} />;
}

function Opened({ feed, place }: { readonly feed: SessionFeed; readonly place: SessionPlace }) {
  const {
    connection,
    error,
    position: end,
    revision,
    structure,
    problems,
  } = useSelector(feed.store, ({ context }) => context);
  // The beginning can be read while the rest of a long log is loaded.
  const isReady = end > 0;
  const last = Math.max(end, revision);
  const at = place.position === undefined || !isReady ? undefined : Math.min(place.position, last);
  const key = !isReady ? undefined : at === undefined ? `live ${structure}` : `at ${at}`;
  const asked = useAsked(key, (signal) =>
    read<StateAt>(feed.id, "state", { position: at }, signal),
  );
  const steps = useMemo(() => stepsOf(feed.rows), [feed, structure]);
  if (error !== undefined && end === 0)
    return <Failure title={`${feed.id} cannot be shown`} message={error.message} />;
  if (!isReady) {
    const done = revision === 0 ? "" : ` ${figure(end)} of ${figure(revision)} events`;
    return <Loading words={`Reading ${feed.id}…${done}`} />;
  }
  const seen: Seen = {
    feed,
    at,
    end: last,
    structure,
    steps,
    ...(asked.answer === undefined ? {} : { state: asked.answer }),
    ...(asked.error === undefined ? {} : { stateError: asked.error }),
  };
  return (
    <div className={`session view-${place.view}`}>
      <SessionHead seen={seen} connection={connection} />
      {(problems.length > 0 || error !== undefined || asked.error !== undefined) && (
        <div className="banner" role="alert">
          <b>Some of this log cannot be read.</b>{" "}
          {error?.message ?? problems[0]?.message ?? asked.error}
          {problems.length > 1 && ` And ${problems.length - 1} more.`}
        </div>
      )}
      <Tabs view={place.view} />
      <div className="panels">
        <section className="panel-chat" aria-label="Conversation">
          <Chat seen={seen} />
        </section>
        <section className="panel-time" aria-label="Time" id="panel" role="tabpanel">
          {place.view === "events" && <Events seen={seen} />}
          {place.view === "prompt" && <Prompt seen={seen} />}
          {place.view === "state" && <State seen={seen} />}
          {(place.view === "steps" || place.view === "chat") && <Steps seen={seen} />}
        </section>
      </div>
      <Scrubber seen={seen} />
    </div>
  );
}

const labels: Readonly<Record<ViewName, string>> = {
  chat: "Chat",
  events: "Events",
  prompt: "Prompt",
  state: "State",
  steps: "Steps",
};

/** On a wide page the conversation is always there, and its tab is hidden. */
function Tabs({ view }: { readonly view: ViewName }) {
  const move = (by: number): void => {
    const next = views[(views.indexOf(view) + by + views.length) % views.length];
    if (next !== undefined) moveIn({ view: next });
  };
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label="Views"
      onKeyDown={({ key }) => {
        if (key === "ArrowRight") move(1);
        if (key === "ArrowLeft") move(-1);
      }}
    >
      {views.map((name, index) => (
        <button
          key={name}
          type="button"
          role="tab"
          className={`tab tab-${name}`}
          aria-selected={view === name}
          aria-controls="panel"
          tabIndex={view === name ? 0 : -1}
          onClick={() => moveIn({ view: name })}
        >
          {labels[name]} <kbd>{index + 1}</kbd>
        </button>
      ))}
    </div>
  );
}
