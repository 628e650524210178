/** The waterfall of steps and tools, drawn on a canvas; arrow keys and clicks choose a step. */

import { useEffect, useMemo, useRef, type KeyboardEvent } from "react";
import type { StepTimeline } from "../../../src/projections/index.ts";
import { dollars, duration, figure } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";
import { timeScale } from "./waterfall-layout.ts";
import { drawWaterfall, rowAt, ROW_PX, TOP_PX } from "./waterfall-drawing.ts";

const legend = [
  ["waiting", "waiting for the model"],
  ["reasoning", "reasoning"],
  ["text", "text"],
  ["input", "input of a call"],
  ["tool", "tool"],
  ["approval", "a person"],
  ["retry", "before another attempt"],
] as const;

export function Waterfall({
  timelines,
  prices,
  position,
}: {
  readonly timelines: readonly StepTimeline[];
  /** US dollars by step, as far as they are known. */
  readonly prices: ReadonlyMap<number, number>;
  readonly position: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scale = useMemo(() => timeScale(timelines), [timelines]);
  const chosen = timelines.findLastIndex((one) => one.position <= position);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const draw = (): void => drawWaterfall(element, timelines, prices, scale, chosen);
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", draw);
    };
  }, [timelines, prices, scale, chosen]);
  const choose = (index: number): void => {
    const found = timelines[Math.max(0, Math.min(timelines.length - 1, index))];
    if (found !== undefined) moveIn({ position: found.position });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  };
  const step = timelines[chosen];
  return (
    <>
      <ul className="legend" aria-hidden="true">
        {legend.map(([kind, words]) => (
          <li key={kind} className={`span-${kind}`}>
            {words}
          </li>
        ))}
        <li className="span-break">idle time left out</li>
      </ul>
      <canvas
        ref={canvas}
        className="waterfall"
        role="slider"
        tabIndex={0}
        aria-label="Waterfall of steps"
        aria-valuemin={1}
        aria-valuemax={timelines.length}
        aria-valuenow={chosen + 1}
        aria-valuetext={step === undefined ? "before the first step" : wordsOf(step, prices)}
        style={{ height: timelines.length * ROW_PX + TOP_PX }}
        onKeyDown={onKeyDown}
        onClick={({ nativeEvent }) => choose(rowAt(nativeEvent.offsetY))}
      />
      <p className="step-words" aria-live="polite">
        {step === undefined ? "" : wordsOf(step, prices)}
      </p>
    </>
  );
}

function wordsOf(timeline: StepTimeline, prices: ReadonlyMap<number, number>): string {
  const { step, turn, outcome, totalMs, firstTokenMs, tokensPerSecond, spans } = timeline;
  const price = prices.get(step);
  const tools = spans.filter(({ kind }) => kind === "tool");
  return [
    `Step ${step} of turn ${turn}: ${outcome ?? "running"}, ${duration(totalMs)}`,
    ...(price === undefined ? [] : [dollars(price)]),
    ...(firstTokenMs === undefined ? [] : [`first token after ${duration(firstTokenMs)}`]),
    ...(tokensPerSecond === undefined
      ? []
      : [`${figure(Math.round(tokensPerSecond))} tokens a second`]),
    ...tools.map(
      ({ label, from, to, outcome: end }) =>
        `${label} ${to === undefined ? "runs" : duration(to - from)}${end === undefined ? "" : ` (${end})`}`,
    ),
  ].join(" · ");
}
