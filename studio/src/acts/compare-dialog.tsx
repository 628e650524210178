/** Chooses the session to compare with: forks and the origin first. */

import { useState } from "react";
import { useSelector } from "@xstate/store-react";
import { sessionsStore } from "../data/sessions.ts";
import type { ListedSession } from "../data/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { matches } from "../sessions/session-tree.ts";
import { go } from "../shell/place.ts";

export function CompareDialog({
  session,
  onClose,
}: {
  readonly session: string;
  readonly onClose: () => void;
}) {
  const { sessions } = useSelector(sessionsStore, ({ context }) => context);
  const [search, setSearch] = useState("");
  const own = sessions.find((one) => one.session === session);
  const isRelated = (one: ListedSession): boolean =>
    one.forkedFrom?.session === session || own?.forkedFrom?.session === one.session;
  const others = sessions
    .filter((one) => one.session !== session && matches(one, search))
    .toSorted((one, other) => Number(isRelated(other)) - Number(isRelated(one)));
  return (
    <Dialog title="Compare with" onClose={onClose}>
      <input
        type="search"
        aria-label="Search"
        placeholder="Search"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      <ul className="plain choices">
        {others.slice(0, 50).map((one) => (
          <li key={one.session}>
            <button
              type="button"
              className="act"
              onClick={() => {
                onClose();
                go({ page: "compare", left: session, right: one.session });
              }}
            >
              {isRelated(one) && <span aria-label="related">↳ </span>}
              <b dir="auto">{one.title === "" ? one.session : one.title}</b>{" "}
              <code className="dim">{one.session}</code>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
