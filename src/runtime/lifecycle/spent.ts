/** What a session spent since an earlier state, as attributes of a span, by the rule of its bill. Pure. */

import { sessionCost, type KnownLimits } from "../../context/index.ts";
import { defined } from "../../events/index.ts";
import { addUsage, noUsage, type UsageState } from "../../projections/index.ts";
import type { SpanAttributes } from "../../telemetry/index.ts";

export function spentSince(
  before: UsageState,
  { inherited: _, ...now }: UsageState,
  known: KnownLimits,
): SpanAttributes {
  const steps = now.steps.slice(before.steps.length);
  const beside = now.beside.slice(before.beside.length);
  const calls = [...steps, ...beside];
  const { dollars, basis, unpriced } = sessionCost({ ...now, steps, beside }, known).total;
  const used = calls.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
  return defined({
    "turnlog.cost.dollars": unpriced < calls.length ? dollars : undefined,
    "turnlog.cost.unpriced_calls": unpriced,
    "turnlog.cost.basis": basis,
    "turnlog.cache.input_tokens": used.inputTokens,
    "turnlog.cache.read_tokens": used.cacheReadTokens,
    "turnlog.cache.written_tokens": used.cacheWriteTokens,
  });
}
