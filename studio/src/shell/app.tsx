/** The frame of every page: the bar, the list of sessions, the page, and the keys. */

import { useEffect, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { Compare } from "../compare/compare.tsx";
import { Experiments } from "../experiments/experiments.tsx";
import { followSessions, sessionsStore } from "../data/sessions.ts";
import { Refusal } from "../parts/refusal.tsx";
import { SessionList } from "../sessions/session-list.tsx";
import { Help } from "./help.tsx";
import { useKeys, type Key } from "./keys.ts";
import { go, moveIn, placeStore, views } from "./place.ts";
import { SessionPage } from "./session-page.tsx";
import { SignIn } from "./sign-in.tsx";
import { keptTheme, nextTheme, setTheme } from "./theme.ts";
import { moveBy, moveToEdge } from "../time/moving.ts";
import { togglePlaying } from "../time/playing.ts";
import { visible } from "../shown/visible.ts";
import { Welcome } from "./welcome.tsx";

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();

export function App() {
  const { place } = useSelector(placeStore, ({ context }) => context);
  const phase = useSelector(sessionsStore, ({ context }) => context.phase);
  const [isHelpOpen, setHelp] = useState(false);
  const [theme, chooseTheme] = useState(keptTheme);
  useEffect(followSessions, []);
  useEffect(() => {
    document.title =
      place.page === "session" ? `${visible(place.session)} · turnlog studio` : "turnlog studio";
  }, [place]);

  const keys: readonly Key[] = [
    { group: "Everywhere", keys: ["?"], does: "This list", act: () => setHelp(true) },
    {
      group: "Everywhere",
      keys: ["/"],
      does: "Search sessions",
      act: () => focus("#session-search"),
    },
    { group: "Everywhere", keys: ["h"], does: "All sessions", act: () => go({ page: "home" }) },
    {
      group: "Everywhere",
      keys: ["x"],
      does: "Experiments",
      act: () => go({ page: "experiments" }),
    },
    { group: "Everywhere", keys: ["t"], does: "Light, dark, system", act: () => turnTheme() },
    ...views.map((view, index): Key => ({
      group: "In a session",
      keys: [String(index + 1)],
      does: `Show ${view}`,
      act: () => moveIn({ view }),
    })),
    { group: "In a session", keys: ["f"], does: "Find an event", act: () => find() },
    { group: "In a session", keys: ["m"], does: "Write a message", act: () => focus("#composer") },
    { group: "In a session", keys: ["a"], does: "Acts", act: () => focus("#acts") },
    {
      group: "Through time",
      keys: ["ArrowLeft", "k"],
      does: "One event back",
      act: () => moveBy(-1, "row"),
    },
    {
      group: "Through time",
      keys: ["ArrowRight", "j"],
      does: "One event on",
      act: () => moveBy(1, "row"),
    },
    {
      group: "Through time",
      keys: ["Shift+ArrowLeft", "["],
      does: "One step back",
      act: () => moveBy(-1, "step"),
    },
    {
      group: "Through time",
      keys: ["Shift+ArrowRight", "]"],
      does: "One step on",
      act: () => moveBy(1, "step"),
    },
    {
      group: "Through time",
      keys: ["Home"],
      does: "To the first event",
      act: () => moveToEdge("first"),
    },
    {
      group: "Through time",
      keys: ["End", "l"],
      does: "Live: follow the end",
      act: () => moveToEdge("live"),
    },
    { group: "Through time", keys: ["p"], does: "Play, pause", act: () => togglePlaying() },
    { group: "Through time", keys: ["g"], does: "Go to a position", act: () => focus("#go-to") },
  ];
  const find = (): void => {
    moveIn({ view: "events" });
    requestAnimationFrame(() => focus("#event-search"));
  };
  const turnTheme = (): void => {
    const next = nextTheme(theme);
    setTheme(next);
    chooseTheme(next);
  };
  useKeys(keys);

  if (phase === "signed-out") return <SignIn />;
  return (
    <div className={`app page-${place.page}`}>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          focus("#main");
        }}
      >
        Skip to the session
      </a>
      <header className="bar">
        <button type="button" className="brand" onClick={() => go({ page: "home" })}>
          <img src="./icon.svg" alt="" width="22" height="22" />
          <span>
            <span className="wide-only">turnlog</span> <b>studio</b>
          </span>
        </button>
        {phase === "offline" && (
          <span className="pill bad" role="status">
            ● Offline, trying again
          </span>
        )}
        <span className="grow" />
        <button
          type="button"
          className="quiet"
          onClick={() => go({ page: "experiments" })}
          aria-current={place.page === "experiments" ? "page" : undefined}
        >
          Experiments
        </button>
        <button
          type="button"
          className="quiet"
          onClick={turnTheme}
          aria-label={`Colours: ${theme}`}
        >
          {{ system: "◐", light: "○", dark: "●" }[theme]} <span className="wide-only">{theme}</span>
        </button>
        <button type="button" className="quiet" onClick={() => setHelp(true)} aria-label="Keys">
          <kbd>?</kbd>
        </button>
      </header>
      <nav className="side" aria-label="Sessions">
        <SessionList />
      </nav>
      <main id="main" tabIndex={-1} className="main">
        {place.page === "home" && <Welcome />}
        {place.page === "session" && <SessionPage key={place.session} place={place} />}
        {place.page === "experiments" && <Experiments key={JSON.stringify(place)} place={place} />}
        {place.page === "compare" && (
          <Compare
            key={JSON.stringify(place)}
            left={{ session: place.left, branch: place.leftBranch }}
            right={{ session: place.right, branch: place.rightBranch }}
          />
        )}
      </main>
      <Refusal />
      {isHelpOpen && <Help keys={keys} onClose={() => setHelp(false)} />}
    </div>
  );
}
