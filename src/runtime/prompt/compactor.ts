/**
 * Runs a compaction: counts the prompt if that may avoid it, prunes, plans, and lets a model write a
 * summary. Records exactly one `context.compacted` or `context.compaction-rejected` at its end.
 */

import type { CompactionStrategy } from "../../context/index.ts";
import type { StepSource } from "../../agent/index.ts";
import type { CompactionTrigger, EventBody } from "../../events/index.ts";
import type { SessionRecorder } from "../../state/index.ts";
import {
  caseOf,
  finalEnd,
  rejected,
  withoutStrategy,
  written,
  type CompactionCase,
} from "./compaction-end.ts";
import type { Failover } from "../model/failover.ts";
import { limitsNow, placeAt, wouldCompact, type PromptSetup } from "./context-figures.ts";
import { pruningFor } from "./headroom.ts";
import { countPrompt } from "./provider-counter.ts";
import { climbDown, type Ladder } from "./summary-ladder.ts";

export interface CompactionRun extends Pick<Ladder, "signal" | "clock" | "timer" | "random"> {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly failover: Failover;
  readonly setup: PromptSetup;
  readonly strategy: CompactionStrategy;
  readonly trigger: CompactionTrigger;
}

/** Pruning alone is enough if this share of the limit is left at most: the next overflow loses the cache again. */
const PRUNED_SHARE = 0.5;

export async function runCompaction(run: CompactionRun): Promise<void> {
  const { recorder, setup, strategy, trigger, signal, clock } = run;
  const now = (): CompactionCase => caseOf(placeAt(recorder.state, setup, clock()), strategy);
  if (trigger === "limit") {
    const counted = await countPrompt(now(), run);
    if (!recorder.state.machine.matches("compacting")) return;
    if (signal.aborted) return recorder.record(rejected(now(), "cancelled"));
    if (counted !== undefined) recorder.record(counted);
    if (counted !== undefined && !wouldCompact(now()))
      return recorder.record(rejected(now(), "not-needed"));
  }
  const pruned = pruningFor(now(), "compaction");
  if (pruned !== undefined) recorder.record(pruned);
  const begun = now();
  if (pruned !== undefined && trigger === "limit") {
    const isEnough = !wouldCompact(begun, begun.estimate.tokens / PRUNED_SHARE);
    if (isEnough) return recorder.record(rejected(begun, "not-needed"));
  }
  const early = trigger === "asked" ? undefined : withoutStrategy(begun);
  if (early !== undefined) return recorder.record(early);
  const summary = strategy.writer === undefined ? undefined : await fromModel(run, begun, now);
  // The session may have moved on: then this compaction has no end to record.
  if (!recorder.state.machine.matches("compacting")) return;
  if (signal.aborted) return recorder.record(rejected(now(), "cancelled"));
  const rung = strategy.writer === undefined ? {} : { rung: "digest" as const };
  recorder.record(summary ?? finalEnd(now(), rung));
}

/** The event of a summary that a model wrote; undefined if no summary is usable. */
async function fromModel(
  run: CompactionRun,
  { setup, budget }: CompactionCase,
  now: () => CompactionCase,
): Promise<EventBody | undefined> {
  const { recorder, clock } = run;
  let accepted: EventBody | undefined;
  await climbDown({
    ...run,
    prepared: setup.prepared,
    budget,
    headroom: (model) => {
      const { contextWindow, maxOutputTokens } = limitsNow(recorder.state, setup, clock(), model);
      if (contextWindow === undefined) return undefined;
      return contextWindow - Math.min(maxOutputTokens ?? 0, contextWindow / 2);
    },
    isSmall: ({ covers, summary, rung, model, usage }) => {
      accepted = written(now(), { covers, summary }, { rung, model, usage });
      return accepted !== undefined;
    },
  });
  return accepted;
}
