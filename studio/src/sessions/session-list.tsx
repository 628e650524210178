/** The list of sessions with forks below their origins: one tab stop, arrow keys within. */

import { memo, useId, useMemo, useState, type KeyboardEvent } from "react";
import { useSelector } from "@xstate/store-react";
import { loadMoreSessions, searchSessions, sessionsStore } from "../data/sessions.ts";
import { ago, dollars, exactTime, plural, tokens } from "../data/words.ts";
import { Blank, Loading } from "../parts/loading.tsx";
import { go, placeStore } from "../shell/place.ts";
import { matches, sessionTree, type TreeRow } from "./session-tree.ts";
import { StatusPill } from "./status.tsx";

/** Does not follow the position in a session, which moves often. */
export const SessionList = memo(function SessionList() {
  const { phase, sessions, hasMore } = useSelector(sessionsStore, ({ context }) => context);
  const chosen = useSelector(placeStore, ({ context: { place } }) =>
    place.page === "session" ? place.session : undefined,
  );
  const [search, setSearch] = useState("");
  const [waitingOnly, setWaitingOnly] = useState(false);
  const list = useId();
  const waiting = sessions.filter(isWaiting).length;
  const rows = useMemo(
    () =>
      sessionTree(
        sessions.filter((one) => matches(one, search) && (!waitingOnly || isWaiting(one))),
      ),
    [sessions, search, waitingOnly],
  );
  const index = rows.findIndex(({ session }) => session.session === chosen);
  const open = (row: TreeRow | undefined): void => {
    if (row === undefined) return;
    const { place } = placeStore.getSnapshot().context;
    const view = place.page === "session" ? place.view : "chat";
    go({ page: "session", session: row.session.session, view });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    open(rows[Math.max(0, Math.min(rows.length - 1, to))]);
  };
  return (
    <>
      <div className="side-head">
        <input
          id="session-search"
          type="search"
          placeholder="Search sessions"
          aria-label="Search sessions"
          aria-controls={list}
          value={search}
          onChange={({ target: { value } }) => {
            setSearch(value);
            searchSessions(value);
          }}
        />
        <div className="side-filter">
          <span className="dim">
            {plural(rows.length, "session")}
            {hasMore ? "+" : ""}
          </span>
          {waiting > 0 && (
            <button
              type="button"
              className="chip"
              aria-pressed={waitingOnly}
              onClick={() => setWaitingOnly(!waitingOnly)}
            >
              ! {plural(waiting, "waits for you", "wait for you")}
            </button>
          )}
        </div>
      </div>
      {phase === "loading" && <Loading words="Reading the store…" />}
      {phase === "ready" && sessions.length === 0 && search.trim() === "" && (
        <Blank title="No sessions yet">
          <p>
            <code>npx turnlog "hello"</code> makes one; <code>turnlog studio --demo</code> opens
            some.
          </p>
        </Blank>
      )}
      {rows.length === 0 && (sessions.length > 0 || search.trim() !== "") && (
        <Blank title="Nothing found" />
      )}
      <div
        id={list}
        className="session-rows"
        role="tree"
        aria-label="Sessions"
        tabIndex={rows.length === 0 ? -1 : 0}
        aria-activedescendant={index === -1 ? undefined : `${list}-${index}`}
        onKeyDown={onKeyDown}
      >
        {rows.map((row, at) => (
          <Row
            key={row.session.session}
            id={`${list}-${at}`}
            row={row}
            isChosen={at === index}
            onOpen={open}
          />
        ))}
      </div>
      {hasMore && (
        <button type="button" className="link more" onClick={() => void loadMoreSessions()}>
          Show more
        </button>
      )}
    </>
  );
});

function isWaiting({ status }: { readonly status: string }): boolean {
  return status === "awaiting-approval" || status === "awaiting-output";
}

function Row({
  id,
  row,
  isChosen,
  onOpen,
}: {
  readonly id: string;
  readonly row: TreeRow;
  readonly isChosen: boolean;
  readonly onOpen: (row: TreeRow) => void;
}) {
  const { session, depth } = row;
  const { title, total, dollars: cost, problem, forkedFrom, updatedAt } = session;
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isChosen}
      className={`session-row depth-${Math.min(depth, 4)}`}
      onClick={() => onOpen(row)}
    >
      <div className="row-title" dir="auto">
        {depth > 0 && (
          <span className="fork" title={`forked at ${forkedFrom?.position}`}>
            ↳
          </span>
        )}
        {title === "" ? session.session : title}
      </div>
      <div className="row-about">
        {problem === undefined ? (
          <StatusPill status={session.status} lastEnd={session.lastEnd} />
        ) : (
          <span className="pill bad" title={problem.message}>
            ✕ {problem.code}
          </span>
        )}
        <span className="id">{session.session}</span>
        <span className="grow" />
        <span className="num">
          {cost === undefined ? tokens(total.inputTokens + total.outputTokens) : dollars(cost)}
        </span>
        <time title={exactTime(updatedAt)}>{ago(updatedAt, Date.now())}</time>
      </div>
    </div>
  );
}
