/**
 * Compares an agent with recorded sessions: each is read, replayed with the agent as it was, and tried with the
 * candidate, whose model is called and whose tools answer from the recording. No tool runs that a policy does not name.
 */

import { generateText, type LanguageModel, type ToolSet } from "ai";
import { z } from "zod";
import { nameOf, prepareAgent, type Agent } from "../agent/index.ts";
import { shippedCatalogue, uncheckedCallCost, type KnownLimits } from "../context/index.ts";
import {
  defined,
  parseSessionId,
  TurnlogError,
  type BlobStore,
  type EventLog,
  type JsonValue,
  type ModelName,
  type NewEvent,
  type SessionEvent,
  jsonOrText,
} from "../events/index.ts";
import {
  checkedRecording,
  differenceSentence,
  replay,
  tryCandidate,
  type MissedCall as LaneMiss,
  type ReplayedAgent,
  type Tried,
} from "../replay/index.ts";
import { isAsyncIterable } from "../shared/index.ts";
import { querySessions, type SessionQuery } from "../state/index.ts";
import { laneOf, type Lane } from "./lane.ts";
import { pair, type PairAllowed } from "./pairing.ts";
import { report, type ComparedSession, type Comparison, type Miss } from "./report.ts";
import {
  asResult,
  resultIn,
  resultSession,
  sideBySide,
  type MadeResult,
  type StoredResult,
} from "./results.ts";

/** A log, from which `sessions` or `where` choose, or a list of sessions that were read from files. */
export type CompareSource =
  | EventLog
  | readonly { readonly session: string; readonly events: readonly SessionEvent[] }[];

/** What a call that the recording cannot answer comes to. */
export type MissAnswer = { readonly output: JsonValue } | { readonly error: string };

/** A call that the recording cannot answer. */
export interface MissedCall {
  readonly session: string;
  readonly step: number;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly tool: ToolSet[string];
  /** What the tool answered in the recording. */
  readonly recorded: readonly { readonly input: JsonValue; readonly output: JsonValue }[];
}

/**
 * `stop`: the run ends there. `live`: the named tools run, with their effects. `simulate`: a model answers from the
 * tool's description and recorded answers. A function answers, or stops the run with undefined.
 */
export type MissPolicy =
  | "stop"
  | { readonly live: readonly string[] }
  | { readonly simulate: LanguageModel }
  | ((call: MissedCall) => MissAnswer | undefined | Promise<MissAnswer | undefined>);

export interface CompareOptions {
  /** The candidate, or a function that answers it for a recorded description. */
  readonly agent: ReplayedAgent;
  /** The agent as it was. The recording is replayed with it, to prove that it repeats itself. Default: not replayed. */
  readonly recordedAgent?: ReplayedAgent;
  /** Names the results. Default: the candidate's model. */
  readonly experiment?: string;
  /** Of a log: the sessions to compare. Default: those of `where`. */
  readonly sessions?: readonly string[];
  /** Of a log: which sessions to compare. Default: all. */
  readonly where?: SessionQuery;
  /** Runs of the candidate on each session. Default: 1. */
  readonly runs?: number;
  /** Default: `stop`. */
  readonly onMiss?: MissPolicy;
  /** Whether two inputs of a tool mean the same. Default: they are equal as JSON. */
  readonly same?: (toolName: string, recorded: JsonValue, candidate: JsonValue) => boolean;
  /** What may differ. */
  readonly allow?: readonly PairAllowed[];
  /** Scores of a lane by name. A score may ask a model. Greater is better, NaN does not count. */
  readonly scores?: Readonly<
    Record<string, (lane: Lane, which: "recorded" | "candidate") => number | Promise<number>>
  >;
  /** Runs at once. Default: 4. */
  readonly concurrency?: number;
  /** The most that the candidate and simulated answers may cost, in US dollars. Default: no limit. */
  readonly budget?: { readonly dollars: number };
  /**
   * Keeps each run as a closed session. A later call with the same experiment does not repeat it; runs that failed or
   * were stopped by the budget are not kept, and are made again.
   */
  readonly results?: EventLog;
  /** Where the media of the recordings are. Default: those of the log. */
  readonly blobs?: BlobStore;
  /** Ends the comparison; finished runs are in `results`. */
  readonly signal?: AbortSignal;
  /** Called after each run. */
  readonly onCompared?: (session: ComparedSession) => void;
}

/**
 * Tries the candidate on recorded sessions.
 * @returns The report as data: `htmlOf` makes a page of it.
 * @example
 * const report = await compare(log, { agent: { ...agent, model: cheaper }, where: { where: { team: "support" } } });
 * console.log(report.counts.worse, report.totals.dollars.difference);
 * @throws TurnlogError `INVALID_INPUT` if there is no session to compare, if the source is neither a log nor a list of
 * sessions, or if `results` has the experiment with another agent
 */
export async function compare(source: CompareSource, options: CompareOptions): Promise<Comparison> {
  const { runs = 1, concurrency = 4, signal, onCompared = () => {} } = options;
  const sessions = await namesOf(source, options);
  if (sessions.length === 0)
    throw new TurnlogError("INVALID_INPUT", "There is no session to compare: none fits the query.");
  const comparison = new Experiment(source, options, await shippedCatalogue());
  const jobs = sessions.flatMap((session) =>
    Array.from({ length: runs }, (_, index) => ({ session, run: index + 1 })),
  );
  const compared: ComparedSession[] = [];
  const next = jobs.entries();
  const worker = async (): Promise<void> => {
    for (const [place, { session, run }] of next) {
      signal?.throwIfAborted();
      const one = await comparison.compared(session, run);
      compared[place] = one;
      onCompared(one);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, jobs.length) }, worker));
  return report(comparison.name, comparison.candidate, compared);
}

async function namesOf(
  source: CompareSource,
  { sessions, where = {} }: CompareOptions,
): Promise<readonly string[]> {
  if (isList(source)) {
    if (readSessions.safeParse(source).success) return source.map(({ session }) => session);
    throw new TurnlogError(
      "INVALID_INPUT",
      "A comparison takes a log, or a list of sessions with their events, `[{ session, events }]`, and not a list of events.",
    );
  }
  if (sessions !== undefined) return sessions;
  return (await Array.fromAsync(querySessions(source, where))).map(({ session }) => session);
}

/** The form of a list of sessions. The events of each are checked when it is replayed. */
const readSessions = z.array(z.object({ session: z.string(), events: z.array(z.unknown()) }));

function isList(source: CompareSource): source is Exclude<CompareSource, EventLog> {
  return Array.isArray(source);
}

class Experiment {
  readonly #source: CompareSource;
  readonly #options: CompareOptions;
  readonly #catalogue: KnownLimits;
  readonly #spending: Spending;
  readonly #replays = new Map<string, Promise<ComparedSession["replay"]>>();
  /** In words. */
  candidate = "";

  constructor(source: CompareSource, options: CompareOptions, catalogue: KnownLimits) {
    this.#source = source;
    this.#options = options;
    this.#catalogue = catalogue;
    this.#spending = new Spending(options.budget?.dollars);
    if (typeof options.agent !== "function") this.#name(options.agent);
  }

  get name(): string {
    return this.#options.experiment ?? this.candidate;
  }

  #name(agent: Agent): void {
    const { provider, modelId } = nameOf(agent.model);
    if (this.candidate === "") this.candidate = `${provider}:${modelId}`;
  }

  async compared(session: string, run: number): Promise<ComparedSession> {
    const { allow, same } = this.#options;
    // A session that cannot be read is a run that failed: it does not end the comparison.
    const read = await orRefused<Recording | string>(
      async () => await this.#read(session),
      (why) => why,
    );
    if (typeof read === "string") return failed(session, run, read);
    const { agent, known, recorded } = read;
    if (this.#options.budget !== undefined) assertPriced(nameOf(agent.model), known);
    const { candidate, result } = await this.#result({ session, run, ...read });
    return {
      session,
      run,
      ...sideBySide(recorded, candidate, result, defined({ allow, same })),
      replay: await this.#replayed(session, read.events),
    };
  }

  async #scores(recorded: Lane, candidate: Lane): Promise<ComparedSession["scores"]> {
    const scored = await Promise.all(
      Object.entries(this.#options.scores ?? {}).map(async ([name, score]) => {
        const [was, is] = [await score(recorded, "recorded"), await score(candidate, "candidate")];
        return [name, { recorded: was, candidate: is }] as const;
      }),
    );
    // One that is not finite does not apply: it would be the mean of all.
    return Object.fromEntries(
      scored.filter(([, { recorded: was, candidate: is }]) => Number.isFinite(was - is)),
    );
  }

  async #read(session: string): Promise<Recording> {
    const { agent: given } = this.#options;
    const events = isList(this.#source)
      ? (this.#source.find((one) => one.session === session)?.events ?? [])
      : await Array.fromAsync(this.#source.read(session));
    const created = checkedRecording(events);
    const agent = typeof given === "function" ? given(created.data.agent) : given;
    this.#name(agent);
    const known = { ...this.#catalogue, ...defined({ overrides: agent.context?.limits }) };
    return { events, agent, known, recorded: laneOf(session, events, known) };
  }

  /** Once for all runs of a session. */
  async #replayed(
    session: string,
    events: readonly SessionEvent[],
  ): Promise<ComparedSession["replay"]> {
    const { recordedAgent } = this.#options;
    if (recordedAgent === undefined) return { skipped: "The agent as it was is not given." };
    const before =
      this.#replays.get(session) ??
      orRefused<ComparedSession["replay"]>(
        () => replayOf(events, recordedAgent),
        (skipped) => ({ skipped }),
      );
    this.#replays.set(session, before);
    return await before;
  }

  /** The run, as an earlier call kept it, or made now. */
  async #result(job: Job): Promise<Tested<StoredResult>> {
    const { results, allow = [], onMiss = "stop" } = this.#options;
    if (results === undefined) return await this.#run(job);
    const { description } = await prepareAgent(job.agent);
    const about = {
      experiment: this.name,
      of: job.session,
      run: job.run,
      at: job.events.length,
      agent: description.digest,
      onMiss: policyText(onMiss),
      allow,
    };
    const name = parseSessionId(resultSession(about));
    const kept = await resultIn(results, name, about);
    if (kept !== undefined) return await this.#scored(job, kept);
    const made = await this.#run(job);
    const { stopped } = made.result;
    // A run that ended because the money ran out, or failed, is made again.
    if (stopped === undefined || stopped.at === "miss")
      await results.append(name, "none", asResult(made.result, about));
    return made;
  }

  async #run(job: Job): Promise<Tested<MadeResult>> {
    const { session, events, agent, known } = job;
    const { agent: given, same, signal, onMiss = "stop" } = this.#options;
    const blobs = this.#options.blobs ?? (isList(this.#source) ? undefined : this.#source.blobs);
    const misses: Miss[] = [];
    const spending = this.#spending.ofRun(agent, known);
    // A session that cannot be tried is a run that failed: it does not end the comparison.
    const tried = await orRefused<Tried>(
      async () =>
        await tryCandidate(events, given, {
          ...defined({ same, blobs, signal }),
          onCall: (model, tokens) => spending.refused(model, tokens),
          onEvent: (event) => spending.happened(event),
          onMiss: async (call) => {
            const { step, toolName, input } = call;
            const answer = await answered(onMiss, session, call, (usage) => spending.add(usage));
            misses.push({ step, toolName, input, policy: answer?.policy ?? "stop" });
            if (answer === undefined) return undefined;
            if ("error" in answer) throw new Error(answer.error);
            return { output: answer.output };
          },
        }),
      (why) => ({ events: [], ending: [], stopped: { at: "failure", step: 0, why } }),
    );
    return await this.#scored(job, { ...tried, misses });
  }

  async #scored<Result extends Pick<StoredResult, "events">>(
    { session, known, recorded }: Job,
    result: Result,
  ): Promise<Tested<Result & Pick<StoredResult, "scores">>> {
    const candidate = laneOf(session, result.events, known);
    return { candidate, result: { ...result, scores: await this.#scores(recorded, candidate) } };
  }
}

interface Tested<Result> {
  readonly candidate: Lane;
  readonly result: Result;
}

interface Job {
  readonly session: string;
  readonly run: number;
  readonly events: readonly SessionEvent[];
  readonly agent: Agent;
  readonly known: KnownLimits;
  readonly recorded: Lane;
}

type Recording = Omit<Job, "session" | "run">;

/** What an act comes to; where it is refused, what the reason is made to. */
export async function orRefused<Value>(
  act: () => Value | Promise<Value>,
  refused: (why: string) => Value,
): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    if (TurnlogError.isInstance(error)) return refused(error.message);
    throw error;
  }
}

/** A run of a recording that cannot be compared. */
export function failed(session: string, run: number, why: string): ComparedSession {
  const none = laneOf(session, []);
  return {
    session,
    run,
    recorded: none,
    candidate: none,
    pair: pair(none, none),
    replay: { skipped: why },
    misses: [],
    stopped: { at: "failure", step: 0, of: 0, why },
    scores: {},
  };
}

async function replayOf(
  events: readonly SessionEvent[],
  agent: ReplayedAgent,
): Promise<ComparedSession["replay"]> {
  const { difference } = await replay(events, agent);
  return difference === undefined
    ? { equal: true }
    : { equal: false, difference: differenceSentence(difference) };
}

// Answers of a policy.

type Usage = Awaited<ReturnType<typeof generateText>>["usage"];

/** What identifies a policy among those of one experiment. */
function policyText(policy: MissPolicy): string {
  if (typeof policy === "function") return "function";
  if (policy === "stop") return policy;
  if ("live" in policy) return `live: ${policy.live.join(", ")}`;
  const { provider, modelId } = nameOf(policy.simulate);
  return `simulate: ${provider}:${modelId}`;
}

type PolicyAnswer = { readonly policy: Miss["policy"] } & (
  | { readonly output: unknown }
  | { readonly error: string }
);

async function answered(
  policy: MissPolicy,
  session: string,
  { run, ...call }: LaneMiss,
  spent: (call: { readonly model: ModelName; readonly usage: Usage }) => void,
): Promise<PolicyAnswer | undefined> {
  if (policy === "stop") return undefined;
  if (typeof policy === "function") {
    const answer = await policy({ session, ...call });
    return answer && { policy: "function", ...answer };
  }
  if ("live" in policy) {
    if (!policy.live.includes(call.toolName)) return undefined;
    return { policy: "live", output: await lastOf(run()) };
  }
  const { text, usage } = await generateText({
    model: policy.simulate,
    instructions:
      "You stand in for a tool in a test. Answer with the tool's output for the input, as JSON and nothing else.",
    prompt: JSON.stringify({
      tool: call.toolName,
      description: call.tool.description,
      // The latest are the nearest to the state of the world.
      answers: call.recorded.slice(-MOST_EXAMPLES),
      input: call.input,
    }),
  });
  spent({ model: nameOf(policy.simulate), usage });
  return { policy: "simulate", output: jsonOrText(text) };
}

const MOST_EXAMPLES = 20;

/** The output of a tool, the last one of a tool that reports progress. */
async function lastOf(output: unknown): Promise<unknown> {
  if (!isAsyncIterable(output)) return await output;
  let last: unknown;
  for await (const one of output) last = one;
  return last;
}

// What the runs have cost, and what the running calls may.

/** Tokens that a reply without a limit is expected to take at most. */
const REPLY_TOKENS = 4096;

/** Why a model may not be called under a budget: it has no price. */
function unpriced({ provider, modelId }: ModelName): string {
  return `No price of ${provider}:${modelId} is known, so no budget can be kept. Set it in context.limits: { "${modelId}": { prices: { input: 3, output: 15 } } }, in dollars for a million tokens.`;
}

/** A budget that stops every run would be a report of nothing. @throws TurnlogError `INVALID_INPUT` */
function assertPriced(model: ModelName, known: KnownLimits): void {
  const usage = { basis: "estimated", inputTokens: 1, outputTokens: 1 } as const;
  if (uncheckedCallCost(model, usage, Date.now(), known) === undefined)
    throw new TurnlogError("INVALID_INPUT", unpriced(model));
}

class Spending {
  readonly #most: number | undefined;
  #spent = 0;
  #reserved = 0;

  constructor(most: number | undefined) {
    this.#most = most;
  }

  ofRun(agent: Agent, known: KnownLimits) {
    let reserved = 0;
    let model: ModelName | undefined;
    const free = (): void => {
      this.#reserved -= reserved;
      reserved = 0;
    };
    return {
      /** Why a call may not be made; undefined if it may. */
      refused: (called: ModelName, inputTokens: number): string | undefined => {
        if (this.#most === undefined) return undefined;
        const usage = {
          basis: "estimated",
          inputTokens,
          outputTokens: agent.maxOutputTokens ?? REPLY_TOKENS,
        } as const;
        const price = uncheckedCallCost(called, usage, Date.now(), known);
        if (price === undefined) return unpriced(called);
        if (this.#spent + this.#reserved + price > this.#most)
          return `The next call could pass the budget of $${this.#most}.`;
        free();
        reserved = price;
        this.#reserved += price;
        return undefined;
      },
      happened: (event: NewEvent): void => {
        if (event.type === "step.started") ({ model } = event.data);
        const isEnd = event.type === "step.finished" || event.type === "step.failed";
        if (!isEnd && event.type !== "step.retrying" && event.type !== "step.interrupted") return;
        free();
        const { usage } = event.data;
        if (usage === undefined || model === undefined) return;
        this.#spent += uncheckedCallCost(model, usage, event.time, known) ?? 0;
      },
      add: ({
        model: called,
        usage,
      }: {
        readonly model: ModelName;
        readonly usage: Usage;
      }): void => {
        const { inputTokens = 0, outputTokens = 0 } = usage;
        const tokens = { basis: "measured", inputTokens, outputTokens } as const;
        this.#spent += uncheckedCallCost(called, tokens, Date.now(), known) ?? 0;
      },
    };
  }
}
