/** Chooses the session to compare with: forks and the origin first. */

import { useState } from "react";
import { useSelector } from "@xstate/store-react";
import { findSessions, sessionsStore } from "../data/sessions.ts";
import type { Branch, ListedSession } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { go } from "../shell/place.ts";

const MOST = 50;

export function CompareDialog({
  session,
  branches,
  onClose,
}: {
  readonly session: string;
  readonly branches: readonly Branch[];
  readonly onClose: () => void;
}) {
  const listed = useSelector(sessionsStore, ({ context }) => context.sessions);
  const [search, setSearch] = useState("");
  const found = useAsked(search.trim(), async () => findSessions(search.trim(), MOST));
  const sessions = found.answer?.sessions ?? listed;
  const active = branches.find((one) => one.active);
  const own = sessions.find((one) => one.session === session);
  const isRelated = (one: ListedSession): boolean =>
    one.forkedFrom?.session === session || own?.forkedFrom?.session === one.session;
  const others = sessions
    .filter((one) => one.session !== session)
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
        {active !== undefined &&
          branches.map((branch) =>
            branch.active ? null : (
              <li key={branch.id}>
                <button
                  type="button"
                  className="act"
                  onClick={() => {
                    onClose();
                    go({
                      page: "compare",
                      left: session,
                      leftBranch: branch.id,
                      right: session,
                      rightBranch: active.id,
                    });
                  }}
                >
                  ⑂ The active branch with the one up to position {figure(branch.head)}
                </button>
              </li>
            ),
          )}
        {others.slice(0, MOST).map((one) => (
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
