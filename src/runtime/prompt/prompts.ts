/** Makes the next prompt of a live session, and records the events that make it fit. */

import type { CompactOptions } from "../../commands/index.ts";
import {
  PRUNE_DEFAULTS,
  SHORTEST_LIFETIME_MS,
  turnsCost,
  unsentMessages,
  type CompactionStrategy,
  type ContextEstimate,
  type Cost,
  pageLimit,
  resultPage,
  resultShare,
} from "../../context/index.ts";
import {
  type EventBody,
  type FailureKind,
  type StoredError,
  entriesOf,
} from "../../events/index.ts";
import {
  compactions,
  resultText,
  type CallPart,
  type HistoryState,
  type StepItem,
} from "../../projections/index.ts";
import { runCompaction, type CompactionRun } from "./compactor.ts";
import {
  contextFigures,
  knownLimits,
  nextPrompt,
  type ContextFigures,
  type PromptSetup,
  type EstimatedPrompt,
  nextEstimate,
} from "./context-figures.ts";
import { canBeShorter, isInVain } from "./fitting-compaction.ts";
import {
  compactionChoice,
  compactionHow,
  type Agent,
  type PreparedAgent,
  bindReader,
  guardedStrategy,
  isCallbackFailure,
  type ReadRequest,
} from "../../agent/index.ts";
import { stepBudget, compactionNow, cutsNow, omissionNow, pruningNow } from "./headroom.ts";
import { previewCompaction, type CompactionPreview } from "./preview.ts";
import {
  reductionNow,
  afterOverflow,
  cutsAfterOverflow,
  MOST_REFUSALS,
  omissionAfterRefusal,
  refusedPrompt,
} from "./refused-prompt.ts";
import { toStoredError } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";

export type PromptContext = Pick<
  CompactionRun,
  "recorder" | "source" | "clock" | "timer" | "random"
>;

export class SessionPrompts {
  readonly #context: PromptContext;
  #setup: PromptSetup;
  readonly #pruning = new PruningWatch();
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
    return contextFigures(state, this.#setup, this.#context.clock());
  }

  /** What some turns of the session cost, by the prices that the agent has. */
  costOf(state: SessionState, turns: readonly number[]): Cost {
    return turnsCost(state.usage, knownLimits(state, this.#setup), new Set(turns));
  }

  next(): EstimatedPrompt {
    const { recorder, clock } = this.#context;
    return nextPrompt(recorder.state, this.#setup, clock());
  }

  /** The next prompt without the user's functions, after one of them failed. */
  plain(): EstimatedPrompt {
    const { recorder, clock } = this.#context;
    const { prepared } = this.#setup;
    const agent = { ...prepared.agent, context: {} };
    const catalogue = { limits: () => undefined, cost: () => undefined };
    return nextPrompt(recorder.state, { prepared: { ...prepared, agent }, catalogue }, clock());
  }

  /** The prompt of the next step, after cuts, prunings and omissions; undefined if a compaction begins first. */
  beforeStep(): EstimatedPrompt | undefined {
    const { recorder, clock } = this.#context;
    let next = this.next();
    const cut = cutsNow(recorder.state, this.#setup, stepBudget(this.#setup, next.estimate));
    if (cut !== undefined) {
      recorder.record(cut);
      next = this.next();
    }
    const pruned = this.#pruning.beforeStep(recorder.state, this.#setup, next.estimate, clock());
    if (pruned !== undefined) {
      recorder.record(pruned);
      next = this.next();
    }
    const omitted = omissionNow(recorder.state, this.#setup, next.estimate);
    if (omitted !== undefined) {
      recorder.record(omitted);
      next = this.next();
    }
    const compaction = compactionNow(recorder.state, this.#setup, next.estimate, clock());
    if (compaction === undefined || this.#isInVain(compaction)) return next;
    recorder.record(compaction);
    return undefined;
  }

  /** The agent with `read_tool_output` bound to this session. */
  equipped(): Agent {
    const { recorder, clock } = this.#context;
    return bindReader(this.#setup.prepared.agent, (request) =>
      readResult(recorder.state, this.#setup, clock(), request),
    );
  }

  preview(state: SessionState, how: CompactionStrategy | undefined): CompactionPreview {
    const strategy = how ?? this.#usual();
    return previewCompaction(state, strategy, this.#setup, this.#context.clock());
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
    const { recorder, clock } = this.#context;
    const { overflows } = recorder.state.compactions;
    if (overflows === 0 || overflows >= MOST_REFUSALS) return overflows === 0;
    return canBeShorter({ recorder, setup: this.#setup, strategy: this.#own(), clock });
  }

  /** What the next attempt leaves out after the provider refused the conversation; undefined if nothing. */
  reduced(kind: FailureKind, error: StoredError): EventBody | undefined {
    return reductionNow(this.#context.recorder.state, this.#setup, kind, error);
  }

  /** After a refusal: makes the prompt shorter and returns true, or records what happens instead. */
  shortenRefused(): boolean {
    const { recorder, clock } = this.#context;
    const omitted = omissionAfterRefusal(recorder.state, this.#setup, clock());
    if (omitted !== undefined) {
      recorder.record(omitted);
      return true;
    }
    const shorter = cutsAfterOverflow(recorder.state, this.#setup, clock());
    if (shorter !== undefined) {
      recorder.record(shorter.cut);
      if (this.next().estimate.tokens <= shorter.limit) return true;
    }
    const refused = refusedPrompt(recorder.state, this.#setup, clock());
    let next = afterOverflow(recorder.state, this.#setup.prepared.agent.context, refused);
    if (next !== "retry" && this.#isInVain(next)) {
      const shorter = { ...refused, hasUnsent: false };
      next = afterOverflow(recorder.state, { compact: false }, shorter);
    }
    if (next === "retry") return true;
    recorder.record(next);
    return false;
  }

  /** Whether an event begins a compaction that would be rejected: a log has no use for both. */
  #isInVain(begun: EventBody): boolean {
    if (begun.type !== "context.compaction-started") return false;
    const { recorder, clock } = this.#context;
    const { state } = recorder;
    const event = { position: state.position + 1, time: clock(), ...begun };
    const tried = compactions.fold(state.compactions, event);
    return isInVain({
      recorder: { state: { ...state, compactions: tried } },
      setup: this.#setup,
      strategy: this.#own(),
      clock,
    });
  }

  #own(): CompactionStrategy {
    return compactionChoice(this.#setup.prepared.agent.context)?.how ?? unsentMessages;
  }

  #usual(): CompactionStrategy {
    return compactionHow(this.#setup.prepared.agent.context);
  }
}

/** Decides before which steps to look for a pruning, as a look reads the whole history. */
class PruningWatch {
  #turn = 0;
  #tokens = 0;

  /** The pruning before a step, if one is due. */
  beforeStep(
    state: SessionState,
    setup: PromptSetup,
    { tokens }: ContextEstimate,
    now: number,
  ): EventBody | undefined {
    const { prune = {} } = setup.prepared.agent.context ?? {};
    if (prune === false) return undefined;
    const {
      protectTokens = PRUNE_DEFAULTS.protectTokens,
      minimumGain = PRUNE_DEFAULTS.minimumGain,
    } = prune;
    const { turn } = state.history;
    // A smaller prompt has nothing to prune.
    if (tokens < protectTokens + minimumGain) return undefined;
    const last = state.usage.steps.at(-1);
    const hasPaused = last !== undefined && now - last.time > SHORTEST_LIFETIME_MS;
    const hasGrown = tokens >= this.#tokens + minimumGain / 2;
    if (turn === this.#turn && !hasPaused && !hasGrown) return undefined;
    this.#turn = turn;
    this.#tokens = tokens;
    return pruningNow(state, setup, now, "step");
  }
}

// Reads a page of a tool result for a call of `read_tool_output`. Pure.

/** @throws Error for the model, if the call has no result */
function readResult(
  state: SessionState,
  setup: PromptSetup,
  now: number,
  { call, from, length }: ReadRequest,
): string {
  const part = callNamed(state.history, call);
  const text = part && resultText(part);
  if (text === undefined) {
    throw new Error(
      `There is no result of a call ${JSON.stringify(call)}. Name the call as the note in its result does.`,
    );
  }
  const budget = stepBudget(setup, nextEstimate(state, setup, now));
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
