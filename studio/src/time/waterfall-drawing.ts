/** Draws the waterfall: a row a step, its label on the left, its spans on the common time line. */

import type { StepTimeline } from "../../../src/projections/index.ts";
import { dollars, duration } from "../data/words.ts";
import type { Scale } from "./waterfall-layout.ts";

export const ROW_PX = 24;
export const TOP_PX = 6;
const LABEL_PX = 76;
const END_PX = 116;

export function rowAt(y: number): number {
  return Math.floor((y - TOP_PX) / ROW_PX);
}

export function drawWaterfall(
  canvas: HTMLCanvasElement,
  timelines: readonly StepTimeline[],
  prices: ReadonlyMap<number, number>,
  scale: Scale,
  chosen: number,
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name);
  const room = Math.max(40, width - LABEL_PX - END_PX);
  const x = (time: number): number => LABEL_PX + scale.at(time) * room;
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  context.strokeStyle = colour("--line");
  context.setLineDash([2, 3]);
  for (const { at } of scale.breaks) {
    const left = Math.round(LABEL_PX + at * room) + 0.5;
    context.beginPath();
    context.moveTo(left, 0);
    context.lineTo(left, height);
    context.stroke();
  }
  context.setLineDash([]);
  timelines.forEach((one, index) => {
    const top = TOP_PX + index * ROW_PX;
    const middle = top + ROW_PX / 2;
    if (index === chosen) {
      context.fillStyle = colour("--accent-faint");
      context.beginPath();
      context.roundRect(0, top + 1, width, ROW_PX - 2, 5);
      context.fill();
    }
    context.fillStyle = colour(index <= chosen ? "--text" : "--dim");
    context.fillText(`${one.turn} · ${one.step}`, 8, middle);
    for (const { kind, from, to = one.totalMs } of one.spans) {
      const left = x(one.startedAt + from);
      const right = Math.max(left + 2, x(one.startedAt + to));
      context.fillStyle = colour(`--span-${kind}`);
      context.beginPath();
      // A thin line where nothing came.
      const isThin = kind === "gap" || kind === "waiting";
      context.roundRect(left, isThin ? middle - 2 : middle - 6, right - left, isThin ? 4 : 12, 3);
      context.fill();
    }
    const end = x(one.startedAt + one.totalMs);
    context.fillStyle = colour(one.outcome === "failed" ? "--bad" : "--dim");
    const failed = one.outcome === "failed" ? "✕ " : "";
    const price = prices.get(one.step);
    const paid = price === undefined ? "" : ` · ${dollars(price)}`;
    context.fillText(`${failed}${duration(one.totalMs)}${paid}`, end + 6, middle);
  });
}
