/** The log as a list: filters, failures only, search, calls as one row; the chosen event with its data beside it. */

import { useDeferredValue, useMemo, useRef, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { give } from "../data/give.ts";
import { indexAt } from "../data/rows.ts";
import { endOf, type Row } from "../data/types.ts";
import { exactTime, figure, plural } from "../data/words.ts";
import { JsonView } from "../parts/json-view.tsx";
import { Blank } from "../parts/loading.tsx";
import { moveIn } from "../shell/place.ts";
import { positionOf, type Seen } from "../shell/seen.ts";
import { listedRows, type CallRows } from "./call-rows.ts";
import { EventRows } from "./event-rows.tsx";
import { familyOf, families, isFailure, type Family } from "./event-words.ts";

interface Filter {
  readonly hidden: ReadonlySet<Family>;
  readonly failuresOnly: boolean;
  readonly search: string;
}

function fits({ event }: Row, { hidden, failuresOnly, search }: Filter): boolean {
  if (hidden.has(familyOf(event.type)) || (failuresOnly && !isFailure(event))) return false;
  return search === "" || JSON.stringify(event).toLowerCase().includes(search);
}

export function Events({ seen }: { readonly seen: Seen }) {
  const { feed, structure } = seen;
  const [hidden, setHidden] = useState<ReadonlySet<Family>>(new Set());
  const [failuresOnly, setFailuresOnly] = useState(false);
  const [search, setSearch] = useState("");
  // A long log is searched after the letter is drawn.
  const searched = useDeferredValue(search);
  const filter = { hidden, failuresOnly, search: searched.trim().toLowerCase() };
  const isAll = hidden.size === 0 && !failuresOnly && filter.search === "";
  // Deltas join the last row, so the list changes with the structure.
  const rows = useMemo(
    () => (isAll ? feed.rows.slice() : feed.rows.filter((row) => fits(row, filter))),
    [feed, structure, isAll, hidden, failuresOnly, filter.search],
  );
  const [areGrouped, setGrouped] = useState(true);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  // Who looks for something sees the row that has it.
  const groups = areGrouped && !failuresOnly && filter.search === "" ? opened : undefined;
  const listed = useMemo(() => listedRows(rows, groups), [rows, groups]);
  const toggleCall = (key: string): void => {
    const next = new Set(opened);
    if (!next.delete(key)) next.add(key);
    setOpened(next);
  };
  const toggle = (family: Family): void => {
    const next = new Set(hidden);
    if (!next.delete(family)) next.add(family);
    setHidden(next);
  };
  const position = positionOf(seen);
  const chosen = feed.rows[indexAt(feed.rows, position)];
  return (
    <div className="events">
      <div className="toolbar">
        <input
          id="event-search"
          type="search"
          placeholder="Find in events"
          aria-label="Find in events"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <button
          type="button"
          className="chip"
          aria-pressed={failuresOnly}
          onClick={() => setFailuresOnly(!failuresOnly)}
        >
          ✕ failures only
        </button>
        <button
          type="button"
          className="chip"
          aria-pressed={areGrouped}
          onClick={() => setGrouped(!areGrouped)}
        >
          ▸ calls as one row
        </button>
        <span className="chips" role="group" aria-label="Families of events">
          {families.map((family) => (
            <button
              key={family}
              type="button"
              className={`chip family-${family}`}
              aria-pressed={!hidden.has(family)}
              onClick={() => toggle(family)}
            >
              {family}
            </button>
          ))}
        </span>
        <span className="dim num" role="status">
          {isAll
            ? plural(rows.length, "row")
            : `${figure(rows.length)} of ${figure(feed.rows.length)} rows`}
        </span>
      </div>
      <div className="events-body">
        {rows.length === 0 ? (
          <Blank title="No event fits the filter" />
        ) : (
          <EventRows
            listed={listed}
            opened={opened}
            position={position}
            at={chosen}
            follows={seen.at === undefined}
            onToggle={toggleCall}
          />
        )}
        {chosen !== undefined && (
          <Chosen
            feed={feed}
            row={chosen}
            call={
              listed.rows[listed.hidden.get(chosen.event.position) ?? -1]?.call ??
              listed.rows.find(({ row }) => row === chosen)?.call
            }
            position={position}
          />
        )}
      </div>
    </div>
  );
}

function Chosen({
  feed,
  row,
  call,
  position,
}: {
  readonly feed: Seen["feed"];
  readonly row: Row;
  readonly call: CallRows | undefined;
  readonly position: number;
}) {
  // While deltas come, the last row grows.
  useSelector(feed.store, ({ context }) =>
    endOf(row) >= context.position - 1 ? context.position : 0,
  );
  const copied = useRef<HTMLButtonElement>(null);
  const { event, last } = row;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(JSON.stringify(event, undefined, 2));
    if (copied.current !== null) copied.current.textContent = "Copied";
  };
  return (
    <aside className="event-detail" aria-label="The event" key={event.position}>
      <header>
        <h2 className={`family-${familyOf(event.type)}`}>{event.type}</h2>
        <span className="grow" />
        <button ref={copied} type="button" className="link" onClick={() => void give(copy)}>
          Copy JSON
        </button>
      </header>
      <dl className="facts">
        <dt>Position</dt>
        <dd className="num">
          {figure(event.position)}
          {last !== undefined &&
            ` to ${figure(last.position)}, ${figure(last.lengths.length)} deltas`}
        </dd>
        <dt>Time</dt>
        <dd className="num">{exactTime(event.time)}</dd>
      </dl>
      {call !== undefined && (
        <ul className="call-rows" aria-label="Events of the call">
          {call.rows.map((one) => (
            <li key={one.event.position}>
              <button
                type="button"
                className="link"
                aria-current={one === row}
                onClick={() => moveIn({ position: endOf(one) })}
              >
                {figure(one.event.position)} {one.event.type}
              </button>
            </li>
          ))}
        </ul>
      )}
      {last !== undefined && position < last.position && (
        <p className="notice">
          Position {figure(position)} is within this block.{" "}
          <button
            type="button"
            className="link"
            onClick={() => moveIn({ position: last.position })}
          >
            To its end
          </button>
        </p>
      )}
      <JsonView value={event.data} openTo={3} />
    </aside>
  );
}
