/**
 * The list of sessions with forks below their origins, of which only those in sight are drawn: one tab stop, arrow
 * keys within.
 */

import { memo, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useSelector } from "@xstate/store-react";
import { loadMoreSessions, searchSessions, sessionsStore } from "../data/sessions.ts";
import type { ListedSession } from "../data/types.ts";
import { ago, dollars, exactTime, plural, tokens } from "../data/words.ts";
import { Blank, Loading } from "../parts/loading.tsx";
import { go, placeStore } from "../shell/place.ts";
import { sessionTree, type TreeRow } from "./session-tree.ts";
import { StatusPill } from "./status.tsx";

const ROW_PX = 56;
/** With the error of its last turn. */
const ERROR_ROW_PX = 76;

/** Does not follow the position in a session, which moves often. */
export const SessionList = memo(function SessionList() {
  const {
    phase,
    sessions,
    hasMore,
    search: found,
  } = useSelector(sessionsStore, ({ context }) => context);
  const chosen = useSelector(placeStore, ({ context: { place } }) =>
    place.page === "session" ? place.session : undefined,
  );
  const [search, setSearch] = useState("");
  const [waitingOnly, setWaitingOnly] = useState(false);
  const list = useId();
  const waiting = sessions.filter(isWaiting).length;
  const isSearching = phase === "loading" || search.trim() !== found;
  const rows = useMemo(
    () => sessionTree(waitingOnly ? sessions.filter(isWaiting) : sessions),
    [sessions, waitingOnly],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (rows[at]?.session.error === undefined ? ROW_PX : ERROR_ROW_PX),
    overscan: 8,
  });
  // Other rows have other heights.
  useEffect(() => virtualizer.measure(), [virtualizer, rows]);
  const index = rows.findIndex(({ session }) => session.session === chosen);
  const scroll = useRef(virtualizer);
  scroll.current = virtualizer;
  useEffect(() => {
    if (index >= 0) scroll.current.scrollToIndex(index, { align: "auto" });
  }, [index]);
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
          placeholder="failed user:ann since:2d"
          aria-label="Search sessions"
          title="Words of the id, title, badge, error, model, agent or metadata. One of them: status:failed, user:ann, tag:x, error:quota. Time: since:2d, until:2026-05-01."
          aria-controls={list}
          value={search}
          onChange={({ target: { value } }) => {
            setSearch(value);
            searchSessions(value);
          }}
        />
        <div className="side-filter">
          <span className="dim" role="status">
            {isSearching
              ? "Searching…"
              : `${plural(rows.length, "session")}${hasMore ? " and more" : ""}`}
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
      {phase === "ready" && !isSearching && sessions.length === 0 && found === "" && (
        <Blank title="No sessions yet">
          <p>
            <code>npx turnlog "hello"</code> makes one; <code>turnlog studio --demo</code> opens
            some.
          </p>
        </Blank>
      )}
      {!isSearching && rows.length === 0 && (sessions.length > 0 || found !== "") && (
        <Blank title="Nothing found" />
      )}
      <div
        ref={scroller}
        id={list}
        className="session-rows"
        aria-busy={isSearching}
        role="tree"
        aria-label="Sessions"
        tabIndex={rows.length === 0 ? -1 : 0}
        aria-activedescendant={index === -1 ? undefined : `${list}-${index}`}
        onKeyDown={onKeyDown}
      >
        <div
          role="presentation"
          style={{ height: virtualizer.getTotalSize(), position: "relative" }}
        >
          {virtualizer.getVirtualItems().map(({ index: at, start }) => {
            const row = rows[at];
            return row === undefined ? null : (
              <Row
                key={row.session.session}
                id={`${list}-${at}`}
                row={row}
                top={start}
                isChosen={at === index}
                onOpen={open}
              />
            );
          })}
        </div>
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
  return status.startsWith("awaiting-");
}

function Row({
  id,
  row,
  top,
  isChosen,
  onOpen,
}: {
  readonly id: string;
  readonly row: TreeRow;
  readonly top: number;
  readonly isChosen: boolean;
  readonly onOpen: (row: TreeRow) => void;
}) {
  const { session, depth } = row;
  const { title, total, dollars: cost, problem, error, forkedFrom, updatedAt } = session;
  const owner = ownerOf(session);
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isChosen}
      className={`session-row depth-${Math.min(depth, 4)}`}
      style={{ transform: `translateY(${top}px)` }}
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
        {owner !== "" && (
          <span className="owner" title={owner} dir="auto">
            {owner}
          </span>
        )}
        <span className="id">{session.session}</span>
        <span className="grow" />
        <span
          className="num"
          title={cost === undefined ? "Tokens" : "An estimate, at the price of its last model"}
        >
          {cost === undefined ? tokens(total.inputTokens + total.outputTokens) : dollars(cost)}
        </span>
        <time title={exactTime(updatedAt)}>{ago(updatedAt, Date.now())}</time>
      </div>
      {error !== undefined && (
        <div className="row-error" title={error} dir="auto">
          {error}
        </div>
      )}
    </div>
  );
}

/** Whose session it is: the tenant and the user that its metadata name. */
function ownerOf({ metadata = {} }: ListedSession): string {
  return Object.entries(metadata)
    .flatMap(([key, value]) =>
      /^(?:tenant|user)/iu.test(key) && typeof value === "string" ? [value] : [],
    )
    .join(" · ");
}
