/** How far a ratio may go before something has become slow: well beyond what a busy machine makes of it. */

import type { RatioName, Ratios } from "./ratios.ts";

export interface Limit {
  readonly bound: "at most" | "at least";
  readonly value: number;
}

export const limits: Readonly<Record<RatioName, Limit>> = {
  "CPU of a step ÷ the bare loop's": { bound: "at most", value: 0.85 },
  "CPU of a step on streamText ÷ the bare loop's": { bound: "at most", value: 2 },
  "CPU of the last steps ÷ of the first": { bound: "at most", value: 1.6 },
  "CPU of a call among 2,000 ÷ among 500": { bound: "at most", value: 5 },
  "bytes on disk ÷ content": { bound: "at most", value: 1.4 },
  "bytes written ÷ content": { bound: "at most", value: 4 },
  "appends of the log ÷ rows of level, a second": { bound: "at least", value: 0.1 },
};

export interface Verdict {
  readonly name: RatioName;
  readonly measured: number;
  readonly limit: Limit;
  readonly holds: boolean;
}

/** One for each ratio that could be measured. */
export function verdicts(ratios: Ratios): readonly Verdict[] {
  return names.flatMap((name) => {
    const [measured, limit] = [ratios[name], limits[name]];
    if (measured === undefined) return [];
    const holds = limit.bound === "at most" ? measured <= limit.value : measured >= limit.value;
    return [{ name, measured, limit, holds }];
  });
}

/** What is beyond its limit in both of two measurements; noise is in one. */
export function slips(first: Ratios, second: Ratios): readonly Verdict[] {
  const again = new Set(verdicts(second).flatMap(({ name, holds }) => (holds ? [] : [name])));
  return verdicts(first).filter(({ name, holds }) => !holds && again.has(name));
}

const names: readonly RatioName[] = [
  "CPU of a step ÷ the bare loop's",
  "CPU of a step on streamText ÷ the bare loop's",
  "CPU of the last steps ÷ of the first",
  "CPU of a call among 2,000 ÷ among 500",
  "bytes on disk ÷ content",
  "bytes written ÷ content",
  "appends of the log ÷ rows of level, a second",
];
