/** Where the spans of a waterfall go: one time line for all steps, on which idle time is a short break. Pure. */

import type { StepTimeline } from "../../../src/projections/index.ts";

/** Idle time longer than this is compressed. */
const IDLE_MS = 1_500;
/** The share of the busy time that each break takes. */
const BREAK_SHARE = 0.012;

export interface Scale {
  /** From 0 to 1. */
  readonly at: (time: number) => number;
  /** Where time is left out, and how much. */
  readonly breaks: readonly { readonly at: number; readonly ms: number }[];
}

interface Busy {
  readonly from: number;
  to: number;
}

/** Joins the times in which some step was busy. */
function busyTimes(timelines: readonly StepTimeline[]): readonly Busy[] {
  const busy: Busy[] = [];
  const sorted = timelines.toSorted((one, other) => one.startedAt - other.startedAt);
  for (const { startedAt: from, totalMs, spans } of sorted) {
    const ends = spans.map((span) => from + (span.to ?? span.from));
    const to = Math.max(from + totalMs, from + 1, ...ends);
    const last = busy.at(-1);
    if (last !== undefined && from - last.to <= IDLE_MS) last.to = Math.max(last.to, to);
    else busy.push({ from, to });
  }
  return busy;
}

export function timeScale(timelines: readonly StepTimeline[]): Scale {
  const busy = busyTimes(timelines);
  const total = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const gap = Math.min(total * BREAK_SHARE, (total * 0.25) / Math.max(1, busy.length));
  const whole = total + gap * Math.max(0, busy.length - 1);
  const starts: number[] = [];
  let passed = 0;
  for (const { from, to } of busy) {
    starts.push(passed);
    passed += to - from + gap;
  }
  const at = (time: number): number => {
    const index = Math.max(
      0,
      busy.findLastIndex(({ from }) => from <= time),
    );
    const span = busy[index];
    if (span === undefined || whole === 0) return 0;
    const within = Math.max(0, Math.min(time, span.to) - span.from);
    return ((starts[index] ?? 0) + within) / whole;
  };
  const breaks = busy.slice(1).map(({ from }, index) => ({
    at: ((starts[index + 1] ?? 0) - gap / 2) / whole,
    ms: from - (busy[index]?.to ?? from),
  }));
  return { at, breaks };
}
