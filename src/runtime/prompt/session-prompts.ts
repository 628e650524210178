/**
 * A session's prompts: how large the next one is, and what is done so that it has room. Records
 * through the session's door; the actor says when.
 */

import { unsentMessages, type CompactionStrategy } from "../../context/index.ts";
import { runCompaction, type CompactionRun } from "./compactor.ts";
import {
  contextFigures,
  nextPrompt,
  type ContextFigures,
  type PromptSetup,
  type EstimatedPrompt,
} from "./context-figures.ts";
import { canBeShorter } from "./fitting-compaction.ts";
import {
  compactionChoice,
  compactionHow,
  type Agent,
  bindReader,
  guardedStrategy,
  isCallbackFailure,
} from "../../agent/index.ts";
import { stepBudget } from "./prompt-limits.ts";
import { compactionNow, cutsNow, omissionNow } from "./headroom.ts";
import { previewCompaction, type CompactionPreview } from "./preview.ts";
import { PruningWatch } from "./pruning-watch.ts";
import {
  afterOverflow,
  cutsAfterOverflow,
  MOST_REFUSALS,
  omissionAfterRefusal,
  refusedPrompt,
} from "./refused-prompt.ts";
import { readResult } from "./result-reading.ts";
import { toStoredError } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";

type Surroundings = Pick<CompactionRun, "recorder" | "source" | "clock" | "timer" | "random">;

export class SessionPrompts {
  readonly #around: Surroundings;
  readonly #setup: PromptSetup;
  readonly #pruning = new PruningWatch();
  /** What the compaction that was asked for is to be. */
  #asked: CompactionStrategy | undefined;

  constructor(around: Surroundings, setup: PromptSetup) {
    this.#around = around;
    this.#setup = setup;
  }

  /** The figures of `session.context()`, now or in a state that was. */
  figures(state: SessionState = this.#around.recorder.state): ContextFigures {
    return contextFigures(state, this.#setup, this.#around.clock());
  }

  next(): EstimatedPrompt {
    const { recorder, clock } = this.#around;
    return nextPrompt(recorder.state, this.#setup, clock());
  }

  /** The same without the user's functions, one of which has failed. */
  plain(): EstimatedPrompt {
    const { recorder, clock } = this.#around;
    const { prepared } = this.#setup;
    const agent = { ...prepared.agent, context: {} };
    const catalogue = { limits: () => undefined, cost: () => undefined };
    return nextPrompt(recorder.state, { prepared: { ...prepared, agent }, catalogue }, clock());
  }

  /** The prompt of the step that is due, with long results cut, pruned where that is worth it, without the oldest media where it is too large; undefined where a compaction has begun first. */
  beforeStep(): EstimatedPrompt | undefined {
    const { recorder, clock } = this.#around;
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
    const compaction = compactionNow(recorder.state, this.#setup, next.estimate);
    if (compaction === undefined) return next;
    recorder.record(compaction);
    return undefined;
  }

  /** The agent as its tools are run here: the one that reads results reads those of this session. */
  equipped(): Agent {
    const { recorder, clock } = this.#around;
    return bindReader(this.#setup.prepared.agent, (asked) =>
      readResult(recorder.state, this.#setup, clock(), asked),
    );
  }

  /** What a compaction would leave of a state. */
  preview(state: SessionState, how: CompactionStrategy | undefined): CompactionPreview {
    const strategy = how ?? this.#usual();
    return previewCompaction(state, strategy, this.#setup, this.#around.clock());
  }

  /** Begins a compaction that was asked for. */
  ask(how: CompactionStrategy | undefined): void {
    const strategy = how === undefined ? this.#usual() : guardedStrategy(how, "strategy");
    this.#asked = strategy;
    this.#around.recorder.record({
      type: "context.compaction-started",
      data: { trigger: "asked", strategy: strategy.name },
    });
  }

  /** Runs the compaction that has begun. */
  async compact(signal: AbortSignal): Promise<void> {
    const trigger = this.#around.recorder.state.compactions.trigger ?? "asked";
    const strategy = this.#asked ?? (trigger === "asked" ? this.#usual() : this.#own());
    this.#asked = undefined;
    const { recorder } = this.#around;
    try {
      await runCompaction({ ...this.#around, setup: this.#setup, strategy, trigger, signal });
    } catch (thrown) {
      if (!isCallbackFailure(thrown) || !recorder.state.machine.matches("compacting")) throw thrown;
      const [error, { name }] = [toStoredError(thrown), strategy];
      recorder.record({
        type: "context.compaction-rejected",
        data: { strategy: name, why: "failed", error },
      });
    }
  }

  /** Whether a prompt that was refused may be sent once more: the second time only if there is more to leave out. */
  mayBeShorter(): boolean {
    const { recorder, clock } = this.#around;
    const { overflows } = recorder.state.compactions;
    if (overflows === 0 || overflows >= MOST_REFUSALS) return overflows === 0;
    return canBeShorter({ recorder, setup: this.#setup, strategy: this.#own(), clock });
  }

  /** After a prompt that was too long: whether it is sent once more, shorter. Records what is done else. */
  retries(): boolean {
    const { recorder, clock } = this.#around;
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
    const next = afterOverflow(
      recorder.state,
      this.#setup.prepared.agent.context,
      refusedPrompt(recorder.state, this.#setup, clock()),
    );
    if (next === "retry") return true;
    recorder.record(next);
    return false;
  }

  /** How it is compacted without being asked for. */
  #own(): CompactionStrategy {
    return compactionChoice(this.#setup.prepared.agent.context)?.how ?? unsentMessages;
  }

  #usual(): CompactionStrategy {
    return compactionHow(this.#setup.prepared.agent.context);
  }
}
