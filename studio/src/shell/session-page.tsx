/** The page of a session: its head, its conversation, the panel of time, and the scrubber. */

import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { Chat } from "../chat/chat.tsx";
import { read } from "../data/client.ts";
import { SessionFeed } from "../data/session-feed.ts";
import type { StateAt } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure } from "../data/words.ts";
import { Failure, Loading } from "../parts/loading.tsx";
import { SessionHead } from "../sessions/session-head.tsx";
import { Bill } from "../time/bill.tsx";
import { Events } from "../time/events.tsx";
import { openedFeed } from "../time/moving.ts";
import { Prompt } from "../time/prompt.tsx";
import { Scrubber } from "../time/scrubber.tsx";
import { State } from "../time/state.tsx";
import { Steps } from "../time/steps.tsx";
import { moveIn, views, type Place, type ViewName } from "./place.ts";
import { useIsWide } from "./wide.ts";
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

const shownKeys = ["connection", "error", "structure", "reading", "problems", "isWhole"] as const;

export function SessionPage({ place }: { readonly place: SessionPlace }) {
  const feed = useFeed(place.session);
  return feed === undefined ? null : <Opened feed={feed} place={place} />;
}

function Opened({ feed, place }: { readonly feed: SessionFeed; readonly place: SessionPlace }) {
  // Not the messages and not the position: deltas change them, and most panels do not show deltas.
  const { connection, error, structure, reading, problems, isWhole } = useSelector(
    feed.store,
    ({ context }) => context,
    (one, other) => shownKeys.every((key) => one?.[key] === other[key]),
  );
  const end = Math.max(feed.position, feed.revision);
  const isReady = end > 0;
  const at = place.position === undefined || !isReady ? undefined : Math.min(place.position, end);
  const live = isWhole ? `live ${structure}` : "loading";
  const key = !isReady ? undefined : at === undefined ? live : `at ${at} ${reading}`;
  const asked = useAsked(key, (signal) =>
    read<StateAt>(feed.id, "state", { position: at }, signal),
  );
  const steps = useMemo(() => (isWhole ? feed.steps.all : []), [feed, structure, isWhole]);
  const seen: Seen = {
    feed,
    at,
    end,
    reading,
    structure,
    isWhole,
    steps,
    ...(asked.answer === undefined ? {} : { state: asked.answer }),
    ...(asked.error === undefined ? {} : { stateError: asked.error }),
  };
  // A person who moves fast through time waits for no conversation that is gone already.
  const chatSeen = useDeferredValue(seen);
  if (error !== undefined && end === 0)
    return <Failure title={`${feed.id} cannot be shown`} message={error.message} isPage />;
  if (!isReady) return <Loading words={`Reading ${feed.id}…`} />;
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
          <Chat seen={chatSeen} />
        </section>
        <section className="panel-time" aria-label="Time" id="panel" role="tabpanel">
          {isWhole || place.view === "state" ? (
            <TimePanel view={place.view} seen={seen} />
          ) : (
            <Progress feed={feed} />
          )}
        </section>
      </div>
      <Scrubber seen={seen} />
    </div>
  );
}

function TimePanel({ view, seen }: { readonly view: ViewName; readonly seen: Seen }) {
  switch (view) {
    case "events":
      return <Events seen={seen} />;
    case "prompt":
      return <Prompt seen={seen} />;
    case "state":
      return <State seen={seen} />;
    case "bill":
      return <Bill seen={seen} />;
    case "steps":
    case "chat":
      return <Steps seen={seen} isPriced={view === "steps"} />;
  }
}

/** The last turns are there already, and their panels need the events before them. */
function Progress({ feed }: { readonly feed: SessionFeed }) {
  const { position, revision } = useSelector(feed.store, ({ context }) => context);
  return <Loading words={`Reading… ${figure(position)} of ${figure(revision)} events`} />;
}

const labels: Readonly<Record<ViewName, string>> = {
  chat: "Chat",
  events: "Events",
  prompt: "Prompt",
  state: "State",
  steps: "Steps",
  bill: "Bill",
};

/** On a wide page the conversation is always there, beside the panel of another view. */
function Tabs({ view: asked }: { readonly view: ViewName }) {
  const isWide = useIsWide();
  const shown: readonly ViewName[] = isWide ? views.filter((name) => name !== "chat") : views;
  const view = isWide && asked === "chat" ? "steps" : asked;
  const move = (by: number): void => {
    const next = shown[(shown.indexOf(view) + by + shown.length) % shown.length];
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
      {shown.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          className="tab"
          aria-selected={view === name}
          aria-controls="panel"
          tabIndex={view === name ? 0 : -1}
          onClick={() => moveIn({ view: name })}
        >
          {labels[name]} <kbd>{views.indexOf(name) + 1}</kbd>
        </button>
      ))}
    </div>
  );
}
