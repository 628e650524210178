/** The list of sessions: asked again while the page is seen. */

import { createStore } from "@xstate/store";
import { client, codeOf, messageOf } from "./client.ts";
import type { ListedSession } from "./types.ts";

interface Sessions {
  readonly phase: "loading" | "ready" | "signed-out" | "offline";
  readonly error?: string;
  readonly sessions: readonly ListedSession[];
  readonly hasMore: boolean;
  /** What the sessions were searched for. */
  readonly search: string;
  /** Undefined before the server said it. */
  readonly canRun?: boolean;
}

const initial: Sessions = { phase: "loading", sessions: [], hasMore: false, search: "" };
const PAGE = 200;

export const sessionsStore = createStore({
  context: initial,
  on: {
    changed: (state, { change }: { readonly change: Partial<Sessions> }) => ({
      ...state,
      ...change,
    }),
  },
});

interface Page {
  readonly sessions: readonly ListedSession[];
  readonly more: boolean;
}

export async function findSessions(text: string, most: number): Promise<Page> {
  const query = text === "" ? { limit: most } : { limit: most, search: text };
  return await client.http.json<Page>({ path: "/api/studio/sessions", query });
}

/** The server finds older sessions by a search. */
const MOST = 2_000;

let limit = PAGE;
let search = "";
let searching: ReturnType<typeof setTimeout> | undefined;

/** Loads are numbered: an answer that comes after that of a later one says nothing any more. */
let loads = 0;
let answered = 0;

export async function loadSessions(): Promise<void> {
  const load = ++loads;
  const say = (change: Partial<Sessions>): void => {
    if (load < answered) return;
    answered = load;
    sessionsStore.trigger.changed({ change });
  };
  try {
    const { canRun: known } = sessionsStore.getSnapshot().context;
    const canRun =
      known ??
      (await client.http.json<{ readonly canRun: boolean }>({ path: "/api/studio/about" })).canRun;
    const asked = search;
    const page = await findSessions(asked, limit);
    if (asked !== search) return;
    say({ phase: "ready", sessions: page.sessions, hasMore: page.more, search: asked, canRun });
  } catch (error) {
    const phase = codeOf(error) === "UNAUTHORIZED" ? "signed-out" : "offline";
    say({ phase, error: messageOf(error) });
  }
}

export async function loadMoreSessions(): Promise<void> {
  limit = Math.min(MOST, limit + PAGE);
  await loadSessions();
}

const TYPING_MS = 80;

/** Asks for the sessions that a search finds. The server says what its words mean. */
export function searchSessions(text: string): void {
  search = text.trim();
  clearTimeout(searching);
  searching = setTimeout(() => void loadSessions(), TYPING_MS);
}

const EVERY_MS = 4_000;

/** Keeps the list fresh while the page is seen. Returns how to stop. */
export function followSessions(): () => void {
  const ask = (): void => {
    if (!document.hidden && sessionsStore.getSnapshot().context.phase !== "signed-out")
      void loadSessions();
  };
  void loadSessions();
  const timer = setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", ask);
  };
}
