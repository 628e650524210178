/** The bar of time: where in the log the page is, with marks of turns, failures, compactions and rewinds. */

import { memo, useEffect, useMemo, useRef, useState, type SubmitEvent } from "react";
import { useSelector } from "@xstate/store-react";
import { indexAt } from "../data/rows.ts";
import type { Row } from "../data/types.ts";
import { exactTime, figure } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";
import type { Seen } from "../shell/seen.ts";
import { isFailure } from "./event-words.ts";
import { moveBy, moveToEdge } from "./moving.ts";
import { playing, togglePlaying } from "./playing.ts";

interface Mark {
  readonly kind: "turn" | "failure" | "compaction" | "rewind";
  readonly from: number;
  readonly to: number;
}

function marksOf(rows: readonly Row[]): readonly Mark[] {
  const marks: Mark[] = [];
  let turn: number | undefined;
  for (const { event } of rows) {
    const { position: from } = event;
    if (event.type === "turn.started") turn = from;
    else if (event.type === "turn.ended" && turn !== undefined) {
      marks.push({ kind: "turn", from: turn, to: from });
      turn = undefined;
    }
    if (event.type === "context.compacted") marks.push({ kind: "compaction", from, to: from });
    else if (event.type === "session.rewound") marks.push({ kind: "rewind", from, to: from });
    else if (isFailure(event)) marks.push({ kind: "failure", from, to: from });
  }
  if (turn !== undefined) marks.push({ kind: "turn", from: turn, to: Infinity });
  return marks;
}

export function Scrubber({ seen }: { readonly seen: Seen }) {
  const { feed, structure, at } = seen;
  const marks = useMemo(() => marksOf(feed.rows), [feed, structure]);
  // Deltas move the end too.
  const end = useSelector(feed.store, ({ context }) =>
    Math.max(context.position, context.revision),
  );
  const position = at ?? end;
  const row = feed.rows[indexAt(feed.rows, position)];
  // While a person types, the position may move on.
  const [typed, setTyped] = useState<string>();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const asked = Number(typed);
    if (Number.isInteger(asked)) moveIn({ position: Math.max(1, Math.min(end, asked)) });
    field.current?.blur();
  };
  const field = useRef<HTMLInputElement>(null);
  return (
    <footer className="scrubber" aria-label="Time">
      <div className="scrub-buttons">
        <button
          type="button"
          className="icon"
          aria-label="One step back"
          onClick={() => moveBy(-1, "step")}
        >
          «
        </button>
        <button
          type="button"
          className="icon"
          aria-label="One event back"
          onClick={() => moveBy(-1, "row")}
        >
          ‹
        </button>
        <button
          type="button"
          className="icon"
          aria-label="One event on"
          onClick={() => moveBy(1, "row")}
        >
          ›
        </button>
        <button
          type="button"
          className="icon"
          aria-label="One step on"
          onClick={() => moveBy(1, "step")}
        >
          »
        </button>
      </div>
      <PlayButton />
      <div className="track">
        <Track marks={marks} end={end} />
        <div
          className="track-past"
          style={{ inlineSize: `calc((100% - 16px) * ${(position - 1) / Math.max(1, end - 1)})` }}
        />
        <input
          type="range"
          min={1}
          max={Math.max(1, end)}
          value={position}
          aria-label="Position in the log"
          aria-valuetext={`position ${position} of ${end}${row === undefined ? "" : `, ${row.event.type}`}`}
          onChange={({ target }) => moveIn({ position: Number(target.value) })}
        />
      </div>
      <form className="go-to" onSubmit={submit}>
        <input
          ref={field}
          id="go-to"
          className="num"
          inputMode="numeric"
          aria-label="Go to position"
          value={typed ?? position}
          onFocus={({ target }) => {
            setTyped(target.value);
            target.select();
          }}
          onChange={({ target }) => setTyped(target.value)}
          onBlur={() => setTyped(undefined)}
          size={Math.max(3, String(end).length)}
        />
        <span className="dim num">/ {figure(end)}</span>
      </form>
      <time className="num scrub-time">{row === undefined ? "" : exactTime(row.event.time)}</time>
      <button
        type="button"
        className={at === undefined ? "live is-live" : "live"}
        aria-pressed={at === undefined}
        onClick={() => moveToEdge("live")}
      >
        <span aria-hidden="true">●</span> Live
      </button>
    </footer>
  );
}

function PlayButton() {
  const isOn = useSelector(playing, ({ context }) => context.isOn);
  return (
    <button
      type="button"
      className="icon"
      aria-label={isOn ? "Pause" : "Play the recording"}
      title="Plays what was recorded. Nothing runs."
      onClick={togglePlaying}
    >
      {isOn ? "❚❚" : "▶"}
    </button>
  );
}

/** Drawn when the log grows, not when the position moves. */
const Track = memo(function Track({
  marks,
  end,
}: {
  readonly marks: readonly Mark[];
  readonly end: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const draw = (): void => drawTrack(element, marks, end);
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [marks, end]);
  return <canvas ref={canvas} className="track-canvas" aria-hidden="true" />;
});

function drawTrack(canvas: HTMLCanvasElement, marks: readonly Mark[], end: number): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name);
  const x = (at: number): number =>
    ((Math.min(at, end) - 1) / Math.max(1, end - 1)) * (width - 16) + 8;
  const middle = height / 2;
  context.fillStyle = colour("--line");
  context.fillRect(8, middle - 2, width - 16, 4);
  context.fillStyle = colour("--line-strong");
  for (const { kind, from, to } of marks) {
    if (kind !== "turn") continue;
    const left = x(from);
    context.beginPath();
    context.roundRect(left, middle - 4, Math.max(2, x(to) - left - 1), 8, 2);
    context.fill();
  }
  const colours = { failure: "--bad", compaction: "--context", rewind: "--session" } as const;
  for (const { kind, from } of marks) {
    if (kind === "turn") continue;
    context.fillStyle = colour(colours[kind]);
    // The shape says the kind too: failures above, compactions below, rewinds through.
    const [top, size] = { failure: [1, 7], compaction: [height - 8, 7], rewind: [1, height - 2] }[
      kind
    ];
    context.fillRect(x(from) - 1, top ?? 0, 2, size ?? 0);
  }
}
