/** The figures of a comparison as rows of text, for pages and terminals. Pure. */

import type { Comparison } from "./report.ts";

/** Means per session. */
export interface ShownFigure {
  readonly name: string;
  readonly recorded: string;
  readonly candidate: string;
  readonly difference: string;
  /** 95 %. Absent where the figures allow none. */
  readonly interval?: string;
  /** Whether the interval is on one side of zero. */
  readonly isClear: boolean;
  readonly sessions: number;
}

/** Scores first. Without what no session has. */
export function shownFigures({ totals, scores }: Comparison): readonly ShownFigure[] {
  const rows = [
    ...Object.entries(scores).map(([name, one]) => [`Score ${name}`, one] as const),
    ["Steps", totals.steps] as const,
    ["Calls", totals.calls] as const,
    ["Input tokens", totals.inputTokens] as const,
    ["Read from the cache", totals.cacheReadTokens] as const,
    ["Output tokens", totals.outputTokens] as const,
    ["Dollars", totals.dollars] as const,
    ["Milliseconds", totals.ms] as const,
  ];
  return rows.flatMap(([name, { recorded, candidate, difference }]) => {
    const { value, low, high, n } = difference;
    if (n === 0) return [];
    const hasInterval = low !== undefined && high !== undefined;
    return {
      name,
      recorded: shownNumber(recorded),
      candidate: shownNumber(candidate),
      difference: `${value > 0 ? "+" : ""}${shownNumber(value)}`,
      ...(hasInterval && { interval: `${shownNumber(low)} to ${shownNumber(high)}` }),
      isClear: hasInterval && (low > 0 || high < 0),
      sessions: n,
    };
  });
}

export function shownNumber(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}
