/** Law 7 over a bill: its parts sum to its calls, and those to what the session spent. */

import type { SessionBill } from "../../src/bill/index.ts";
import { spending, type UsageState } from "../../src/projections/index.ts";

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0);

export function billProblems(bill: SessionBill, usage: UsageState): readonly string[] {
  const { calls, parts, cost } = bill;
  const { total } = spending(usage);
  const problems: string[] = [];
  const compare = (what: string, one: number, other: number, most = 0): void => {
    if (!(Math.abs(one - other) <= most * Math.max(Math.abs(one), Math.abs(other))))
      problems.push(`${what}: ${one} and ${other}`);
  };
  const input = sum(calls.map((call) => call.usage.inputTokens));
  compare("input of calls and session", input, total.inputTokens);
  compare("output", sum(calls.map((call) => call.usage.outputTokens)), total.outputTokens);
  compare("input of parts and calls", sum(parts.map(({ tokens }) => tokens)), input);
  if (!parts.every(({ tokens }) => Number.isSafeInteger(tokens) && tokens >= 0))
    problems.push("a part has no whole number of tokens");
  const dollars = calls.flatMap((call) => call.dollars ?? []);
  const paid = sum(dollars.map((one) => one.total));
  compare("dollars of calls and session", paid, cost.total.dollars, 1e-9);
  const output = sum(dollars.map((one) => one.output));
  compare("dollars of parts", sum(parts.map((part) => part.dollars)) + output, paid, 1e-9);
  for (const { total: whole, read, written, plain, output: said } of dollars)
    compare("dollars of a call", read + written + plain + said, whole, 1e-9);
  compare("unpriced", calls.length - dollars.length, cost.total.unpriced);
  return problems;
}
