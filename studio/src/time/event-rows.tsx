/**
 * The rows of the log, of which only those in sight are drawn. One tab stop; arrow keys move the position, Enter opens
 * a call.
 */

import { useEffect, useId, useMemo, useRef, type KeyboardEvent } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { indexAt } from "../data/rows.ts";
import { endOf, type Row } from "../data/types.ts";
import { duration, exactTime, figure } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";
import { callGist, type Listed, type ListedRow } from "./call-rows.ts";
import { familyOf, gistOf, isFailure } from "./event-words.ts";

const ROW_PX = 30;
const PAGE = 20;

export function EventRows({
  listed: { rows: listed, hidden },
  opened,
  position,
  at,
  follows,
  onToggle,
}: {
  readonly listed: Listed;
  /** The keys of the calls whose rows are all listed. */
  readonly opened: ReadonlySet<string>;
  readonly position: number;
  /** The row of the position, which a call may hide. */
  readonly at: Row | undefined;
  readonly follows: boolean;
  readonly onToggle: (call: string) => void;
}) {
  const rows = useMemo(() => listed.map(({ row }) => row), [listed]);
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const chosen = hidden.get(at?.event.position ?? 0) ?? indexAt(rows, position);
  const scroll = useRef(virtualizer);
  scroll.current = virtualizer;
  // The detail of the chosen row takes a part of the height.
  const height = virtualizer.scrollRect?.height;
  useEffect(() => {
    if (chosen >= 0) scroll.current.scrollToIndex(chosen, { align: follows ? "end" : "auto" });
  }, [chosen, follows, height]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const call = listed[chosen]?.call;
    if (event.key === "Enter" && call !== undefined) onToggle(call.key);
    const to = {
      ArrowDown: chosen + 1,
      ArrowUp: chosen - 1,
      PageDown: chosen + PAGE,
      PageUp: chosen - PAGE,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const row = rows[Math.max(0, Math.min(rows.length - 1, to))];
    if (row !== undefined) moveIn({ position: endOf(row) });
  };
  return (
    <div
      ref={scroller}
      className="event-rows"
      role="listbox"
      aria-label="Events"
      tabIndex={0}
      aria-activedescendant={chosen === -1 ? undefined : `${id}-${chosen}`}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: virtualizer.getTotalSize(), position: "relative" }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const one = listed[index];
          return one === undefined ? null : (
            <EventRow
              key={one.row.event.position}
              id={`${id}-${index}`}
              listed={one}
              isOpen={one.call !== undefined && opened.has(one.call.key)}
              onToggle={onToggle}
              before={rows[index - 1]}
              index={index}
              count={rows.length}
              top={start}
              isChosen={index === chosen}
              isLater={one.row.event.position > position}
            />
          );
        })}
      </div>
    </div>
  );
}

function EventRow({
  id,
  listed: { row, call },
  isOpen,
  onToggle,
  before,
  index,
  count,
  top,
  isChosen,
  isLater,
}: {
  readonly id: string;
  readonly listed: ListedRow;
  readonly isOpen: boolean;
  readonly onToggle: (call: string) => void;
  readonly before: Row | undefined;
  readonly index: number;
  readonly count: number;
  readonly top: number;
  readonly isChosen: boolean;
  readonly isLater: boolean;
}) {
  const { event } = row;
  const closed = isOpen ? undefined : call;
  const type = closed === undefined ? event.type : "tool call";
  const family = closed === undefined ? familyOf(event.type) : "tool";
  const hasFailed = (closed?.rows ?? [row]).some((one) => isFailure(one.event));
  const waited = before === undefined ? 0 : event.time - (before.last?.time ?? before.event.time);
  const classes = [
    "event-row",
    `family-${family}`,
    isLater ? "later" : "",
    hasFailed ? "failed" : "",
  ];
  return (
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      aria-posinset={index + 1}
      aria-setsize={count}
      className={classes.join(" ")}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => moveIn({ position: endOf(row) })}
    >
      <span className="num position">{figure(event.position)}</span>
      <span className="event-type">
        {hasFailed && <span aria-label="failure">✕ </span>}
        {call !== undefined && (
          <span
            className="call-toggle"
            title={`${isOpen ? "Close" : "Show"} the ${call.rows.length} events of the call (Enter)`}
            onClick={(click) => {
              click.stopPropagation();
              onToggle(call.key);
            }}
          >
            {isOpen ? "▾" : "▸"}{" "}
          </span>
        )}
        {type}
      </span>
      <span className="gist" dir="auto">
        {closed === undefined ? gistOf(row) : callGist(closed)}
      </span>
      <time className="num" title={exactTime(event.time)}>
        {waited > 0 ? `+${duration(waited)}` : ""}
      </time>
    </div>
  );
}
