/** The time of each step as bars, on one time scale per step. Pure. */

import type { SpanKind, StepTimeline, TimelineSpan } from "../../projections/index.ts";
import type { Channel, Style } from "../output/output.ts";
import { visibleName, visibleText } from "../output/visible-text.ts";
import { amount, duration, excerpt, figure, timeOfDay } from "../wording/wording.ts";

/** Characters in a line without a terminal. */
const COLUMNS = 100;
const NAME_COLUMNS = 22;
const TIME_COLUMNS = 24;

const styles: Readonly<Record<SpanKind, Style>> = {
  waiting: "dim",
  reasoning: "magenta",
  text: "green",
  input: "blue",
  gap: "dim",
  retry: "red",
  approval: "yellow",
  output: "yellow",
  tool: "cyan",
};

export function timelineLines(
  timelines: readonly StepTimeline[],
  data: Channel,
): readonly string[] {
  return timelines.flatMap((timeline) => [...stepLines(timeline, data), ""]);
}

function stepLines(timeline: StepTimeline, data: Channel): readonly string[] {
  const { turn, step, attempts, model, startedAt, outcome = "running" } = timeline;
  const again = attempts > 1 ? `, attempt ${attempts}` : "";
  const end = outcome === "finished" ? "" : `, ${outcome}`;
  const head = `${visibleName(model.modelId)} step ${step}${again}${end}`;
  return [
    `${data.style("bold", head)}${data.style("dim", ` · turn ${turn} · ${timeOfDay(startedAt)}`)}`,
    ...timeline.spans.map((span) => spanLine(span, timeline, data)),
    data.style("dim", `  ${summary(timeline)}`),
  ];
}

function spanLine(span: TimelineSpan, { totalMs }: StepTimeline, data: Channel): string {
  const { kind, label, from, to, outcome } = span;
  const name = visibleText(excerpt(label === undefined ? kind : `${kind} ${label}`, NAME_COLUMNS));
  const barColumns = (data.columns ?? COLUMNS) - NAME_COLUMNS - TIME_COLUMNS - 6;
  const bar = barOf(span, totalMs, Math.max(10, barColumns));
  const time = to === undefined ? "no end" : duration(to - from);
  const how = outcome === undefined || outcome === "succeeded" ? "" : ` ${outcome}`;
  return `  ${name.padEnd(NAME_COLUMNS)} ${data.style(styles[kind], bar)} ${time}${how}`;
}

/** Every span has at least one column; a span without an end extends to the last column. */
function barOf({ kind, from, to }: TimelineSpan, totalMs: number, columns: number): string {
  const scale = totalMs === 0 ? 0 : columns / totalMs;
  const begin = Math.min(columns - 1, Math.floor(from * scale));
  const end = to === undefined ? columns : Math.ceil(to * scale);
  const length = Math.max(1, Math.min(columns, end) - begin);
  const sign = kind === "gap" || kind === "waiting" ? "░" : "█";
  return `${"·".repeat(begin)}${sign.repeat(length)}${"·".repeat(columns - begin - length)}`;
}

function summary({ totalMs, firstTokenMs, usage, tokensPerSecond }: StepTimeline): string {
  const words = [`${duration(totalMs)} in all`];
  words.push(
    firstTokenMs === undefined ? "no token came" : `first token after ${duration(firstTokenMs)}`,
  );
  if (usage !== undefined) {
    const about = usage.basis === "estimated" ? "~" : "";
    words.push(`${about}${amount(usage.outputTokens, "token")} out`);
  }
  if (tokensPerSecond !== undefined) words.push(`${perSecond(tokensPerSecond)} tokens/s`);
  return words.join(", ");
}

function perSecond(tokens: number): string {
  return tokens < 100 ? tokens.toFixed(1) : figure(Math.round(tokens));
}
