/** Where the page is: the hash of its address. `#/sessions/<id>?position=120&view=prompt`. */

import { createStore } from "@xstate/store";

export const views = ["chat", "events", "prompt", "state", "steps", "bill"] as const;
export type ViewName = (typeof views)[number];

export type Place =
  | { readonly page: "home" }
  | {
      readonly page: "session";
      readonly session: string;
      /** Absent: the end of the log, which moves. */
      readonly position?: number;
      readonly view: ViewName;
    }
  | {
      readonly page: "compare";
      readonly left: string;
      readonly right: string;
      /** Branches by their ids; absent: the whole session. */
      readonly leftBranch?: number;
      readonly rightBranch?: number;
    }
  | {
      readonly page: "experiments";
      /** Absent: the list of all. */
      readonly experiment?: string;
      /** One run of it, beside what was recorded. */
      readonly session?: string;
      readonly run?: number;
    };

/** Pure. An address that means nothing is the home page. */
function parsePlace(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#/u, "").split("?");
  const query = new URLSearchParams(search);
  const [, area, id] = path.split("/");
  if (area === "sessions" && id !== undefined && id !== "") {
    const view = views.find((one) => one === query.get("view")) ?? "chat";
    return { page: "session", session: decoded(id), view, ...numberOf(query, "position") };
  }
  if (area === "experiments") {
    const [experiment, session] = [decoded(id ?? ""), query.get("session")];
    if (experiment === "") return { page: "experiments" };
    if (session === null) return { page: "experiments", experiment };
    return { page: "experiments", experiment, session, ...numberOf(query, "run") };
  }
  const [left, right] = [query.get("left"), query.get("right")];
  if (area === "compare" && left !== null && right !== null)
    return {
      page: "compare",
      left,
      right,
      ...numberOf(query, "leftBranch"),
      ...numberOf(query, "rightBranch"),
    };
  return { page: "home" };
}

function numberOf<Name extends string>(
  query: URLSearchParams,
  name: Name,
): { readonly [Key in Name]?: number } {
  const value = Number(query.get(name) ?? "");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (Number.isInteger(value) && value > 0 ? { [name]: value } : {}) as {
    readonly [Key in Name]?: number;
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function hashOf(place: Place): string {
  switch (place.page) {
    case "home":
      return "#/";
    case "compare": {
      const query = new URLSearchParams({ left: place.left, right: place.right });
      for (const side of ["leftBranch", "rightBranch"] as const)
        if (place[side] !== undefined) query.set(side, String(place[side]));
      return `#/compare?${query}`;
    }
    case "experiments": {
      const { experiment, session, run = 1 } = place;
      if (experiment === undefined) return "#/experiments";
      const one =
        session === undefined ? "" : `?${new URLSearchParams({ session, run: `${run}` })}`;
      return `#/experiments/${encodeURIComponent(experiment)}${one}`;
    }
    case "session": {
      const query = new URLSearchParams();
      if (place.position !== undefined) query.set("position", String(place.position));
      if (place.view !== "chat") query.set("view", place.view);
      const asked = query.size === 0 ? "" : `?${query}`;
      return `#/sessions/${encodeURIComponent(place.session)}${asked}`;
    }
  }
}

export const placeStore = createStore({
  context: { place: parsePlace(globalThis.location?.hash ?? "") },
  on: {
    moved: (_, { place }: { readonly place: Place }) => ({ place }),
  },
});

/** Safari and Firefox throw at more than some hundred changes of the address in a short time; Chromium leaves them out. */
const ADDRESS_MS = 400;
let late: ReturnType<typeof setTimeout> | undefined;

/** Writes the place into the address now. */
export function writeAddress(): void {
  clearTimeout(late);
  late = undefined;
  history.replaceState(null, "", hashOf(placeStore.getSnapshot().context.place));
}

/**
 * Goes to a place. Another position of the same session takes no place in the browser's history, and the address
 * follows a little later.
 */
export function go(place: Place): void {
  const now = placeStore.getSnapshot().context.place;
  const stays =
    now.page === "session" &&
    place.page === "session" &&
    now.session === place.session &&
    now.view === place.view;
  if (stays) late ??= setTimeout(writeAddress, ADDRESS_MS);
  else {
    // The entry that is left has the last position.
    if (late !== undefined) writeAddress();
    history.pushState(null, "", hashOf(place));
  }
  placeStore.trigger.moved({ place });
}

/** Goes where an answer of the server leads, unless a person has left the session that they asked in. */
export function goFrom(session: string, place: Place): void {
  const now = placeStore.getSnapshot().context.place;
  if (now.page === "session" && now.session === session) go(place);
}

/** Changes something about the session that is open. */
export function moveIn(change: {
  readonly position?: number | undefined;
  readonly view?: ViewName;
}): void {
  const now = placeStore.getSnapshot().context.place;
  if (now.page !== "session") return;
  const { position, ...rest } = { ...now, ...change };
  go(position === undefined ? rest : { ...rest, position });
}

export function followAddress(): void {
  addEventListener("popstate", () => {
    placeStore.trigger.moved({ place: parsePlace(location.hash) });
  });
}
