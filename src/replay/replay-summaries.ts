/**
 * Compactions of a replay: the agent's strategy decides what is covered, and the log answers instead of
 * the model that writes the summary. For a requested compaction, the log also gives the plan.
 */

import {
  type Agent,
  compactionChoice,
  type ContextOptions,
  fallbackModels,
  nameOf,
} from "../agent/index.ts";
import type { CompactionStrategy, SummaryRequest } from "../context/index.ts";
import {
  recordedError,
  isReported,
  replayedUsage,
  scriptedModel,
  type ReplayPace,
  type ScriptedModel,
  type ScriptedStep,
} from "../models/index.ts";
import { isSameModel, type ModelName, type SessionEvent } from "../events/index.ts";
import { modelKey } from "../projections/index.ts";

/** The writer of summaries that the log does not name. */
const unnamed: ModelName = { provider: "turnlog", modelId: "recorded-summary" };

/** The agent's context options, with a model and a counter that answer from the log. `position`: of the replay. */
export function replayedContext(
  agent: Agent,
  events: readonly SessionEvent[],
  pace: ReplayPace,
  position: () => number,
  isRecorded: () => boolean = () => true,
): ContextOptions {
  const { context } = agent;
  const counted =
    context?.counter === undefined
      ? {}
      : { counter: replayedCounter(context.counter, events, pace, position, isRecorded) };
  const choice = compactionChoice(context);
  const limits = { ...context?.limits, [modelKey(unnamed)]: { contextWindow: 1 } };
  if (choice === undefined) return { ...context, ...counted, limits };
  return {
    ...context,
    ...counted,
    limits,
    compact: { ...choice, how: answered(choice.how, agent, events, pace, isRecorded) },
  };
}

function answered(
  how: CompactionStrategy,
  agent: Agent,
  events: readonly SessionEvent[],
  pace: ReplayPace,
  isRecorded: () => boolean,
): CompactionStrategy {
  const { writer } = how;
  if (writer === undefined) return how;
  const own = writer.model ?? agent.model;
  const answers = new RecordedAnswers(recordedSummaries(events), pace, fallbackModels(agent));
  return {
    name: how.name,
    ...(how.forgetsRequest && { forgetsRequest: how.forgetsRequest }),
    plan: (history, view, budget) => how.plan(history, view, budget),
    writer: {
      get model() {
        return isRecorded() ? answers.model(nameOf(own)) : own;
      },
      get successor() {
        return isRecorded() ? () => answers.successor() : writer.successor;
      },
      request(rung, history, view, budget, room) {
        const request = writer.request(rung, history, view, budget, room);
        if (request === undefined || !isRecorded()) return request;
        answers.take();
        return { ...request, read: () => answers.read() };
      },
    },
  };
}

/** A strategy that repeats the recorded plan of a requested compaction. */
export function recordedStrategy(
  { started, summaries, end }: RecordedCompaction,
  pace: ReplayPace,
): CompactionStrategy {
  const plan: CompactionStrategy["plan"] = () => {
    if (end?.type === "context.compacted") {
      const { covers, summary } = end.data;
      return { covers, summary };
    }
    if (end?.data.error !== undefined) throw recordedError(end.data.error);
    return undefined;
  };
  // The recorded text contains the additions.
  const given = { name: started.data.strategy, forgetsRequest: true } as const;
  const wrote = end?.type === "context.compacted" && end.data.rung !== undefined;
  if (end !== undefined && summaries.length === 0 && !wrote) return { ...given, plan };
  const answers = new RecordedAnswers([summaries], pace);
  return {
    ...given,
    plan,
    writer: {
      // The log names only a model that was called; of another, only its known window matters.
      model: answers.model(unnamed),
      successor: () => answers.successor(),
      request() {
        const current = answers.take();
        // The process died before the answer: the model is called and does not answer.
        if (current === undefined && end !== undefined) return undefined;
        return {
          covers: coveredBy(end),
          instructions: "",
          prompt: "The summary that was recorded.",
          tokens: isWithoutRoom(current) ? Number.POSITIVE_INFINITY : 0,
          maxTokens: 1,
          read: () => answers.read(),
        };
      },
    },
  };
}

function coveredBy(end: RecordedCompaction["end"]): SummaryRequest["covers"] {
  return end?.type === "context.compacted" ? end.data.covers : { from: 1, to: 1 };
}

function isWithoutRoom(outcome: SummaryOutcome | undefined): boolean {
  return outcome?.type === "context.summary-rejected" && outcome.data.why === "no-room";
}

/** The recorded outcomes one after the other: a request takes the next one, and so does a model that takes over. */
class RecordedAnswers {
  readonly #outcomes: readonly SummaryOutcome[];
  /** Outcomes after which their compaction had no other. */
  readonly #last: ReadonlySet<SummaryOutcome | undefined>;
  readonly #pace: ReplayPace;
  readonly #known: readonly { readonly name: ModelName }[] | undefined;
  #taken = 0;

  /** @param known - The models that may take over; all if undefined */
  constructor(
    compactions: readonly (readonly SummaryOutcome[])[],
    pace: ReplayPace,
    known?: readonly { readonly name: ModelName }[],
  ) {
    this.#known = known;
    this.#outcomes = compactions.flat();
    this.#last = new Set(compactions.map((outcomes) => outcomes.at(-1)));
    this.#pace = pace;
  }

  get #current(): SummaryOutcome | undefined {
    return this.#outcomes[this.#taken - 1];
  }

  take(): SummaryOutcome | undefined {
    return this.#outcomes[this.#taken++];
  }

  /** The summary that was made of the reply; the log does not have the reply itself. */
  read(): ReturnType<SummaryRequest["read"]> {
    const outcome = this.#current;
    if (outcome?.type === "context.compacted") return { summary: outcome.data.summary };
    return { problem: outcome?.data.why ?? "failed" };
  }

  /** The model of the next compaction. @param own - Its name if no other is known to have written it */
  model(own: ModelName): ScriptedModel {
    const next = this.#outcomes.slice(this.#taken).find(({ data }) => data.model !== undefined);
    return this.#answering(this.#knownName(next) ?? own, () => {});
  }

  #knownName(outcome: SummaryOutcome | undefined): ModelName | undefined {
    const name = outcome?.data.model;
    const isKnown = name !== undefined && this.#known?.some((one) => isSameModel(one.name, name));
    return isKnown === false ? undefined : name;
  }

  /** The model of the next outcome, if it took over from the one of the present outcome. */
  successor(): ScriptedModel | undefined {
    const [from, next] = [this.#current, this.#outcomes[this.#taken]];
    const model = this.#knownName(next);
    if (model === undefined || from?.data.model === undefined || this.#last.has(from))
      return undefined;
    if (isSameModel(from.data.model, model)) return undefined;
    const place = this.#taken + 1;
    return this.#answering(model, () => {
      this.#taken = Math.max(this.#taken, place);
    });
  }

  #answering(name: ModelName, begin: () => void): ScriptedModel {
    const script = async (): Promise<ScriptedStep> => {
      begin();
      const outcome = this.#current;
      // There was no answer: it was cancelled, its process died, or the model was not called.
      if (outcome === undefined || isWithoutRoom(outcome) || wasCancelled(outcome)) return silent;
      await this.#pace.due(outcome.position);
      const { usage } = outcome.data;
      const billed = usage === undefined ? {} : { usage: replayedUsage(usage) };
      const { error } = outcome.type === "context.summary-rejected" ? outcome.data : {};
      if (error === undefined) return { parts: [], ...billed };
      const failure = recordedError(error, true);
      // A billed reply came to its end, with an error inside its stream.
      if (usage === undefined || !isReported(usage)) return { failure };
      return { parts: [{ type: "error", error: failure }], ...billed };
    };
    return { ...scriptedModel(script), ...name };
  }
}

const silent: ScriptedStep = { parts: [{ type: "gate", until: new Promise<never>(() => {}) }] };

function wasCancelled({ type, data }: SummaryOutcome): boolean {
  return type === "context.summary-rejected" && data.why === "failed" && data.error === undefined;
}

type TokenCounter = NonNullable<ContextOptions["counter"]>;

/** Repeats the recorded counts and errors. `position` answers the position of the replayed session. */
function replayedCounter(
  own: TokenCounter,
  events: readonly SessionEvent[],
  pace: ReplayPace,
  position: () => number,
  isRecorded: () => boolean,
): TokenCounter {
  return {
    name: own.name,
    async count(...given) {
      if (!isRecorded()) return await own.count(...given);
      const outcome = nextCount(events, position());
      // The process died before the answer.
      if (outcome === undefined) return await new Promise<never>(() => {});
      await pace.due(outcome.position);
      switch (outcome.type) {
        case "context.counted":
          return outcome.data.tokens;
        case "context.count-failed":
          throw recordedError(outcome.data.error);
        default:
          throw new Error("No count was recorded here.");
      }
    },
  };
}

/** The next event of the running compaction; undefined if its process died before. */
function nextCount(events: readonly SessionEvent[], position: number): SessionEvent | undefined {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type === "session.recovered" || type.startsWith("context.")),
  );
  return next?.type === "session.recovered" ? undefined : next;
}

// The recorded compactions, and the answers of the models that wrote summaries. Pure.

type CompactionEnd = SessionEvent<"context.compacted" | "context.compaction-rejected">;

/** The answer of a model to a request for a summary. */
type SummaryOutcome = SessionEvent<"context.summary-rejected" | "context.compacted">;

interface RecordedCompaction {
  readonly started: SessionEvent<"context.compaction-started">;
  readonly summaries: readonly SummaryOutcome[];
  /** Undefined if the process died before it. */
  readonly end: CompactionEnd | undefined;
}

export function recordedCompactions(
  events: readonly SessionEvent[],
): readonly RecordedCompaction[] {
  const compactions: RecordedCompaction[] = [];
  for (const event of events) {
    if (event.type === "context.compaction-started") {
      compactions.push({ started: event, summaries: [], end: undefined });
    }
    const last = compactions.at(-1);
    if (last === undefined || last.end !== undefined) continue;
    if (isSummary(event)) {
      compactions[compactions.length - 1] = { ...last, summaries: [...last.summaries, event] };
    }
    if (isEnd(event)) {
      compactions[compactions.length - 1] = { ...(compactions.at(-1) ?? last), end: event };
    }
  }
  return compactions;
}

/** The automatic compactions, in the order in which models were called for them. */
function recordedSummaries(
  events: readonly SessionEvent[],
): readonly (readonly SummaryOutcome[])[] {
  return recordedCompactions(events).flatMap(({ started, summaries }) =>
    started.data.trigger === "asked" ? [] : [summaries],
  );
}

function isSummary(event: SessionEvent): event is SummaryOutcome {
  if (event.type === "context.summary-rejected") return true;
  const { type, data } = event;
  return type === "context.compacted" && data.rung !== undefined && data.rung !== "digest";
}

/** A compaction that a later process ended has no end of its own. */
function isEnd(event: SessionEvent): event is CompactionEnd {
  if (event.type === "context.compacted") return true;
  return event.type === "context.compaction-rejected" && event.data.why !== "recovered";
}
