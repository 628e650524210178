/** Tokens of each step's prompt and reply, with compactions and the context window. */

import { useEffect, useRef } from "react";
import UPlot from "uplot";
import type { Step } from "../data/steps.ts";
import { figure, plural, tokens } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";

const HEIGHT = 190;

export function TokenChart({
  steps,
  compactions,
  window: limit,
  position,
}: {
  readonly steps: readonly Step[];
  /** Their positions. */
  readonly compactions: readonly number[];
  /** Tokens of the model's context window. */
  readonly window: number | undefined;
  readonly position: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);
  const seen = useRef({ steps, compactions, position, limit });
  seen.current = { steps, compactions, position, limit };
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new UPlot(
      optionsOf(element, () => seen.current),
      dataOf(seen.current.steps),
      element,
    );
    chart.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => chart.current?.setData(dataOf(steps)), [steps]);
  useEffect(() => chart.current?.redraw(false), [position, compactions, limit]);
  const largest = Math.max(...steps.map((step) => step.usage?.inputTokens ?? step.estimate));
  return (
    <>
      <div
        ref={place}
        className="token-chart"
        role="img"
        aria-label={`Prompts of ${steps.length} steps, up to ${figure(largest)} tokens`}
      />
      <ul className="legend">
        <li className="span-cached">from the cache</li>
        <li className="span-input-tokens">input</li>
        <li className="span-text">output</li>
        {compactions.length > 0 && (
          <li className="span-compaction">{plural(compactions.length, "compaction")}</li>
        )}
      </ul>
      {limit !== undefined && (
        <p className="dim chart-words">
          {`Window ${tokens(limit)}, largest prompt ${Math.round((largest / limit) * 100)} % of it`}
        </p>
      )}
    </>
  );
}

function dataOf(steps: readonly Step[]): UPlot.AlignedData {
  const cached = steps.map(({ usage }) => usage?.cacheReadTokens ?? 0);
  const input = steps.map(({ usage, estimate }) => usage?.inputTokens ?? estimate);
  const whole = steps.map(({ usage }, index) => (input[index] ?? 0) + (usage?.outputTokens ?? 0));
  return [steps.map((_, index) => index + 1), whole, input, cached];
}

interface Shown {
  readonly steps: readonly Step[];
  readonly compactions: readonly number[];
  readonly position: number;
  readonly limit: number | undefined;
}

function optionsOf(element: HTMLElement, shown: () => Shown): UPlot.Options {
  const colour = (name: string) => (): string => getComputedStyle(element).getPropertyValue(name);
  const bars = UPlot.paths.bars?.({ size: [0.7, 26], radius: 0.15 });
  const series = (label: string, fill: string): UPlot.Series => ({
    label,
    fill: colour(fill),
    stroke: colour(fill),
    width: 0,
    points: { show: false },
    ...(bars === undefined ? {} : { paths: bars }),
  });
  const axis = {
    stroke: colour("--dim"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    scales: {
      x: { time: false, range: (_chart, low, high) => [low - 0.6, high + 0.6] },
      y: { range: (_chart, _low, high) => [0, high * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        values: (_chart, splits) => splits.map((at) => nameOf(shown().steps[at - 1])),
      },
      { ...axis, size: 52, values: (_chart, splits) => splits.map(tokens) },
    ],
    series: [
      {},
      series("output", "--span-text"),
      series("input", "--chart-input"),
      series("cached", "--chart-cached"),
    ],
    cursor: {
      points: { show: false },
      drag: { x: false, y: false },
      bind: {
        click: (chart) => () => {
          const step = shown().steps[chart.cursor.idx ?? -1];
          if (step !== undefined) moveIn({ position: step.position });
          return null;
        },
      },
    },
    hooks: { draw: [(chart) => drawMarks(chart, shown(), colour)] },
  };
}

/** Later attempts of a step have its number and their own. */
function nameOf(step: Step | undefined): string {
  if (step === undefined) return "";
  return step.attempt === 1 ? `${step.step}` : `${step.step}·${step.attempt}`;
}

function drawMarks(
  chart: UPlot,
  { steps, compactions, position, limit }: Shown,
  colour: (name: string) => () => string,
): void {
  const { ctx, bbox } = chart;
  const line = (x: number, name: string, dash: number[], width: number): void => {
    ctx.save();
    ctx.strokeStyle = colour(name)();
    ctx.lineWidth = width * devicePixelRatio;
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  };
  for (const at of compactions) {
    const index = steps.findIndex((step) => step.position > at);
    line(
      chart.valToPos((index === -1 ? steps.length : index) + 0.5, "x", true),
      "--context",
      [3, 3],
      1.5,
    );
  }
  const here = steps.findLastIndex((step) => step.position <= position);
  if (here >= 0) line(chart.valToPos(here + 1, "x", true), "--accent", [], 1);
  const { max = 0 } = chart.scales["y"] ?? {};
  if (limit === undefined || limit > max) return;
  const y = chart.valToPos(limit, "y", true);
  ctx.save();
  ctx.strokeStyle = colour("--bad")();
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
