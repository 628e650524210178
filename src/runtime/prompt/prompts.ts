/** Makes the next prompt of a live session, and records the events that make it fit. */

import type { CompactOptions } from "../../commands/index.ts";
import {
  turnsCost,
  type CompactionStrategy,
  type Cost,
  pageLimit,
  resultPage,
  resultShare,
  type KnownLimits,
} from "../../context/index.ts";
import {
  type EventBody,
  type FailureKind,
  type StoredError,
  entriesOf,
  type CompactionTrigger,
} from "../../events/index.ts";
import {
  resultText,
  type CallPart,
  type HistoryState,
  type StepItem,
} from "../../projections/index.ts";
import {
  compactionHow,
  type Agent,
  type PreparedAgent,
  bindReader,
  guardedStrategy,
  isCallbackFailure,
  type ReadRequest,
  type StepSource,
} from "../../agent/index.ts";
import { toStoredError } from "../../shared/index.ts";
import type { SessionState, SessionRecorder } from "../../state/index.ts";
import {
  canBeShorter,
  caseOf,
  previewCompaction,
  type CompactionPreview,
  finalEnd,
  rejected,
  withoutStrategy,
  written,
  type CompactionCase,
} from "./compaction-end.ts";
import {
  contextFigures,
  knownLimits,
  placeAt,
  type ContextFigures,
  type Place,
  type PromptSetup,
  limitsNow,
  wouldCompact,
} from "./context-figures.ts";
import { stepBudget, pruningFor } from "./headroom.ts";
import {
  afterRefusal,
  afterTooLong,
  beforeStep,
  MOST_REFUSALS,
  nextAfterOverflow,
  strategyOf,
} from "./pipeline.ts";
import type { Failover } from "../model/failover.ts";
import { countPrompt } from "./provider-counter.ts";
import { climbDown, type Ladder } from "./summary-ladder.ts";

export type PromptContext = Pick<
  CompactionRun,
  "recorder" | "source" | "failover" | "clock" | "timer" | "random"
>;

export class SessionPrompts {
  readonly #context: PromptContext;
  #setup: PromptSetup;
  /** The strategy of a compaction that `session.compact` requested. */
  #requested: CompactionStrategy | undefined;

  constructor(context: PromptContext, setup: PromptSetup) {
    this.#context = context;
    this.#setup = setup;
  }

  use(prepared: PreparedAgent): void {
    this.#setup = { ...this.#setup, prepared };
  }

  /** The figures of `session.context()`, now or in an earlier state. */
  figures(state: SessionState = this.#context.recorder.state): ContextFigures {
    return contextFigures(this.next(state));
  }

  /** Windows and prices by the agent, in some state of the session. */
  known(state: SessionState): KnownLimits {
    return knownLimits(state, this.#setup);
  }

  /** What some turns of the session cost, by the prices that the agent has. */
  costOf(state: SessionState, turns: readonly number[]): Cost {
    return turnsCost(state.usage, this.known(state), new Set(turns));
  }

  /** The next prompt, now or in an earlier state. */
  next(state: SessionState = this.#context.recorder.state): Place {
    return placeAt(state, this.#setup, this.#context.clock());
  }

  /** The next prompt without the user's functions, after one of them failed. */
  plain(): Place {
    const { recorder, clock } = this.#context;
    const { prepared } = this.#setup;
    const agent = { ...prepared.agent, context: {} };
    const catalogue = { limits: () => undefined, cost: () => undefined };
    return placeAt(recorder.state, { prepared: { ...prepared, agent }, catalogue }, clock());
  }

  /** The prompt of the next step, after the stages of the pipeline; undefined if a compaction begins first. */
  beforeStep(): Place | undefined {
    const { recorder } = this.#context;
    let next = this.next();
    for (const stage of beforeStep) {
      const event = stage.now(next);
      if (event === undefined) continue;
      recorder.record(event);
      if (event.type === "context.compaction-started") return undefined;
      next = this.next();
    }
    return next;
  }

  /** The prompt for another model that takes over a step, after the stages that need no compaction. */
  refitted(): Place {
    const { recorder } = this.#context;
    for (const stage of beforeStep) {
      const event = stage.now(this.next());
      if (event !== undefined && event.type !== "context.compaction-started")
        recorder.record(event);
    }
    return this.next();
  }

  /** The agent with `read_tool_output` bound to this session. */
  equipped(): Agent {
    return bindReader(this.#setup.prepared.agent, (request) => readResult(this.next(), request));
  }

  preview(state: SessionState, how: CompactionStrategy | undefined): CompactionPreview {
    return previewCompaction(this.next(state), how ?? this.#usual());
  }

  /** @param id - Of the event. */
  request(how: CompactionStrategy | undefined, options: CompactOptions = {}, id?: string): void {
    const strategy = how === undefined ? this.#usual() : guardedStrategy(how, "strategy");
    this.#requested = strategy;
    const data = { trigger: "asked", strategy: strategy.name, ...options } as const;
    this.#context.recorder.record({ type: "context.compaction-started", data }, id);
  }

  async compact(signal: AbortSignal): Promise<void> {
    const trigger = this.#context.recorder.state.compactions.trigger ?? "asked";
    const strategy = this.#requested ?? (trigger === "asked" ? this.#usual() : this.#own());
    this.#requested = undefined;
    const { recorder } = this.#context;
    try {
      await runCompaction({ ...this.#context, setup: this.#setup, strategy, trigger, signal });
    } catch (thrown) {
      if (!isCallbackFailure(thrown) || !recorder.state.machine.matches("compacting")) throw thrown;
      const [error, { name }] = [toStoredError(thrown), strategy];
      recorder.record({
        type: "context.compaction-rejected",
        data: { strategy: name, why: "failed", error },
      });
    }
  }

  /** Whether a refused prompt may be sent again: the second time only if it can become shorter. */
  mayBeShorter(): boolean {
    const { overflows } = this.#context.recorder.state.compactions;
    if (overflows === 0 || overflows >= MOST_REFUSALS) return overflows === 0;
    return canBeShorter(caseOf(this.next(), this.#own()));
  }

  /** What the next attempt leaves out after the provider refused the conversation; undefined if nothing. */
  reduced(kind: FailureKind, error: StoredError): EventBody | undefined {
    return afterRefusal.refused(this.next(), { kind, error });
  }

  /** After a refusal: makes the prompt shorter and returns true, or records what happens instead. */
  shortenRefused(): boolean {
    const { recorder } = this.#context;
    for (const stage of afterTooLong) {
      const event = stage.refused(this.next());
      if (event === undefined) continue;
      recorder.record(event);
      if (stage.isEnough(this.next())) return true;
    }
    const next = nextAfterOverflow(this.next());
    if (next === "retry") return true;
    recorder.record(next);
    return false;
  }

  #own(): CompactionStrategy {
    return strategyOf(this.#setup.prepared.agent.context);
  }

  #usual(): CompactionStrategy {
    return compactionHow(this.#setup.prepared.agent.context);
  }
}

// Reads a page of a tool result for a call of `read_tool_output`. Pure.

/** @throws Error for the model, if the call has no result */
function readResult(place: Place, { call, from, length }: ReadRequest): string {
  const { state, setup } = place;
  const part = callNamed(state.history, call);
  const text = part && resultText(part);
  if (text === undefined) {
    throw new Error(
      `There is no result of a call ${JSON.stringify(call)}. Name the call as the note in its result does.`,
    );
  }
  const budget = stepBudget(place);
  const { cut = {} } = setup.prepared.agent.context ?? {};
  const share = resultShare(budget, cut === false ? {} : cut);
  const limit = pageLimit(share, entriesOf(state.machine.context.calls).length);
  const tokens = (shown: string): number => budget.meter.text(shown).text * budget.factor;
  const range = length === undefined ? { from } : { from, length };
  return resultPage(text, range, limit, tokens).shown;
}

/** Finds a call by `step.index`, as notes name it, or by its id, of which the newest is meant. */
function callNamed({ items, open }: HistoryState, name: string): CallPart | undefined {
  const steps = [...items, ...(open === undefined ? [] : [open])].filter(
    (item): item is StepItem => item.kind === "step",
  );
  const [, step, index] = /^(\d+)\.(\d+)$/.exec(name) ?? [];
  const named = steps.findLast((item) => item.step === Number(step));
  const byIndex = named === undefined ? undefined : callsOf(named)[Number(index) - 1];
  return byIndex ?? steps.flatMap(callsOf).findLast(({ callId }) => callId === name);
}

function callsOf({ parts }: StepItem): readonly CallPart[] {
  return parts.filter((part): part is CallPart => part.kind === "call");
}

// Runs a compaction: counts the prompt if that may avoid it, prunes, plans, and lets a model write a summary.
// Records exactly one `context.compacted` or `context.compaction-rejected` at its end.

interface CompactionRun extends Pick<Ladder, "signal" | "clock" | "timer" | "random"> {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly failover: Failover;
  readonly setup: PromptSetup;
  readonly strategy: CompactionStrategy;
  readonly trigger: CompactionTrigger;
}

/** Pruning alone is enough if this share of the limit is left at most: the next overflow loses the cache again. */
const PRUNED_SHARE = 0.5;

async function runCompaction(run: CompactionRun): Promise<void> {
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
