/**
 * Runs a compaction: counts the prompt if that may avoid it, prunes, plans, and lets a model write a
 * summary. Records exactly one `context.compacted` or `context.compaction-rejected` at its end.
 */

import type { CompactionStrategy, PlanBudget } from "../../context/index.ts";
import type { CompactionTrigger, EventBody } from "../../events/index.ts";
import { inContextTokens, shorter } from "./compaction-end.ts";
import { isDueAt, limitsNow, nextEstimate, type PromptSetup } from "./context-figures.ts";
import type { StepSource } from "../../agent/index.ts";
import {
  ended,
  fits,
  orOnlyThisTurn,
  rejected,
  tokensOf,
  withoutStrategy,
} from "./fitting-compaction.ts";
import { countPrompt } from "./provider-counter.ts";
import { compactionBudget, pruningNow } from "./headroom.ts";
import type { SessionRecorder } from "../../state/index.ts";
import { climbDown, type Ladder } from "./summary-ladder.ts";

export interface CompactionRun extends Pick<Ladder, "signal" | "clock" | "timer" | "random"> {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly setup: PromptSetup;
  readonly strategy: CompactionStrategy;
  readonly trigger: CompactionTrigger;
}

/** Pruning alone is enough if this share of the limit is left at most: the next overflow loses the cache again. */
const PRUNED_SHARE = 0.5;

export async function runCompaction(run: CompactionRun): Promise<void> {
  const { recorder, setup, strategy, trigger, clock } = run;
  if (trigger === "limit") {
    const counted = await countPrompt({ ...run, state: recorder.state, now: clock() });
    await inOrder(recorder);
    if (!recorder.state.machine.matches("compacting")) return;
    if (run.signal.aborted) return recorder.record(rejected(run, "cancelled"));
    if (counted !== undefined) recorder.record(counted);
    if (counted !== undefined && hasHeadroom(run))
      return recorder.record(rejected(run, "not-needed"));
  }
  const pruned = pruningNow(recorder.state, setup, clock(), "compaction");
  if (pruned !== undefined) recorder.record(pruned);
  if (pruned !== undefined && trigger === "limit" && hasHeadroom(run, PRUNED_SHARE)) {
    return recorder.record(rejected(run, "not-needed"));
  }
  const budget = compactionBudget(recorder.state, setup, clock());
  const early = trigger === "asked" ? undefined : withoutStrategy(run, budget);
  if (early !== undefined) return recorder.record(early);
  const written = strategy.writer === undefined ? undefined : await fromModel(run, budget);
  if (strategy.writer !== undefined) await inOrder(recorder);
  // The session may have moved on: then this compaction has no end to record.
  if (!recorder.state.machine.matches("compacting")) return;
  if (run.signal.aborted) return recorder.record(rejected(run, "cancelled"));
  if (written !== undefined) return recorder.record(written);
  const rung = strategy.writer === undefined ? {} : { rung: "digest" as const };
  const end = ended(run, strategy, budget, rung);
  recorder.record(trigger === "asked" || fits(run, end) ? end : orOnlyThisTurn(run, end, budget));
}

async function inOrder(recorder: SessionRecorder): Promise<void> {
  const released = recorder.replayGate({ kind: "compaction" });
  if (released !== undefined) await released;
}

/** Whether no compaction is due any more, nor would be if the prompt took up that share of its size. */
function hasHeadroom({ recorder, setup, clock }: CompactionRun, share = 1): boolean {
  const estimate = nextEstimate(recorder.state, setup, clock());
  return !isDueAt(recorder.state, setup, estimate, clock(), estimate.tokens / share);
}

/** The event of a summary that a model wrote; undefined if no summary is usable. */
async function fromModel(run: CompactionRun, budget: PlanBudget): Promise<EventBody | undefined> {
  const { recorder, setup, strategy, source, signal, clock, timer, random } = run;
  const { agent } = setup.prepared;
  let accepted: EventBody | undefined;
  await climbDown({
    recorder,
    source,
    agent,
    strategy,
    budget,
    signal,
    clock,
    timer,
    random,
    headroom: (model) => {
      const { contextWindow, maxOutputTokens } = limitsNow(recorder.state, setup, clock(), model);
      if (contextWindow === undefined) return undefined;
      return contextWindow - Math.min(maxOutputTokens ?? 0, contextWindow / 2);
    },
    isSmall: ({ covers, summary, rung, model, usage }) => {
      const plan = { covers, summary };
      const origin = { rung, model, usage };
      const body = shorter(recorder.state, strategy, plan, tokensOf(run), budget, origin);
      const end = body && inContextTokens(recorder.state, body, setup, clock());
      const isSmall =
        end?.type === "context.compacted" &&
        (run.trigger === "asked" || fits(run, end) || orOnlyThisTurn(run, end, budget) === end);
      accepted = isSmall ? end : undefined;
      return isSmall;
    },
  });
  return accepted;
}
