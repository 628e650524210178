/**
 * The report of a comparison as data (JSON): every session side by side, the figures with intervals, what became
 * better or worse, and what to read first. Lanes that stopped count in no figure: they would look cheap. Pure.
 */

import { cutShort, defined, type JsonValue } from "../events/index.ts";
import {
  sum,
  type Lane,
  type LaneCall,
  type LaneStep,
  type LaneTotals,
  type LaneTurn,
  type StoredFile,
} from "./lane.ts";
import type { Difference, Pair } from "./pairing.ts";
import { callText, endText } from "./words.ts";

/** A call that the recording could not answer, and what was done. */
export interface Miss {
  readonly step: number;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly policy: "stop" | "live" | "simulate" | "function";
}

/** Where and why a lane ended early. */
export interface Stopped {
  readonly at: "miss" | "budget" | "failure";
  readonly step: number;
  /** The steps of the recording. */
  readonly of: number;
  readonly why: string;
}

interface Scored {
  readonly recorded: number;
  readonly candidate: number;
}

interface ComparedRun {
  readonly session: string;
  /** The number of the candidate's run, from 1. */
  readonly run: number;
  /** Whether the recording repeats itself exactly, which a comparison presumes. */
  readonly replay:
    | { readonly equal: true }
    | { readonly equal: false; readonly difference: string }
    | { readonly skipped: string };
  readonly misses: readonly Miss[];
  readonly stopped?: Stopped;
  readonly scores: Readonly<Record<string, Scored>>;
}

/** One run of the candidate on one session. */
export interface ComparedSession extends ComparedRun {
  readonly recorded: Lane;
  readonly candidate: Lane;
  readonly pair: Pair;
}

/**
 * By the scores, if there are any, else by the turns that finished: a finished turn that now fails is worse. Else
 * `different`, or `stopped` where the candidate did not come to its end.
 */
type Verdict = "equal" | "better" | "worse" | "different" | "stopped";

/** A step with texts and values cut short. */
export interface ReportedStep extends Pick<LaneStep, "step" | "text" | "end" | "error"> {
  readonly calls: readonly ReportedCall[];
}

interface ReportedCall extends Pick<LaneCall, "toolName" | "outcome"> {
  readonly input: string;
  readonly result?: string;
}

export interface ReportedRow {
  readonly recorded?: ReportedStep;
  readonly candidate?: ReportedStep;
  readonly differences: readonly Difference[];
}

export interface ReportedTurn {
  readonly turn: number;
  readonly message: string;
  /** Of the message. */
  readonly files: readonly StoredFile[];
  /** How it ended, in words; absent where a lane does not have the turn. */
  readonly recorded?: string;
  readonly candidate?: string;
  readonly differences: readonly Difference[];
  readonly steps: readonly ReportedRow[];
}

export interface ReportedSession extends ComparedRun {
  readonly verdict: Verdict;
  readonly first?: string;
  readonly recorded: LaneTotals;
  readonly candidate: LaneTotals;
  readonly turns: readonly ReportedTurn[];
}

/** Means per session, and the mean of the differences with its interval. */
interface Figure {
  readonly recorded: number;
  readonly candidate: number;
  readonly difference: Estimate;
}

/** A run to read, with the reason. */
interface Reading {
  readonly session: string;
  readonly run: number;
  readonly reason: string;
}

/** The report of a comparison. */
export interface Comparison {
  readonly experiment: string;
  /** In words. */
  readonly candidate: string;
  readonly counts: Readonly<Record<Verdict, number>> & {
    readonly sessions: number;
    readonly runs: number;
    /** Runs whose recording repeats itself exactly. */
    readonly replayed: number;
    readonly misses: number;
  };
  /** Of all runs. */
  readonly shares: Readonly<Record<Verdict, Estimate>>;
  readonly totals: Readonly<Record<keyof LaneTotals, Figure>>;
  readonly scores: Readonly<Record<string, Figure>>;
  /** At most ten. */
  readonly first: readonly Reading[];
  readonly sessions: readonly ReportedSession[];
}

const FIRST = 10;
const TEXT_LENGTH = 2000;
const VALUE_LENGTH = 600;

const verdicts = ["equal", "better", "worse", "different", "stopped"] as const;

export function report(
  experiment: string,
  candidate: string,
  compared: readonly ComparedSession[],
): Comparison {
  const sessions = compared.map(reported);
  const runs = sessions.length;
  const count = (verdict: Verdict): number =>
    sessions.filter((one) => one.verdict === verdict).length;
  const ended = sessions.filter(({ stopped }) => stopped === undefined);
  const figure = (name: keyof LaneTotals): Figure =>
    figureOf(ended, (one) => pairOf(one.recorded[name], one.candidate[name]));
  const scored = new Set(sessions.flatMap(({ scores }) => Object.keys(scores)));
  return {
    experiment,
    candidate,
    counts: {
      sessions: new Set(sessions.map(({ session }) => session)).size,
      runs,
      replayed: sessions.filter(({ replay }) => "equal" in replay && replay.equal).length,
      misses: sum(sessions.map(({ misses }) => misses.length)),
      ...byVerdict(count),
    },
    shares: byVerdict((verdict) => shareOf(count(verdict), runs)),
    totals: {
      steps: figure("steps"),
      calls: figure("calls"),
      inputTokens: figure("inputTokens"),
      cacheReadTokens: figure("cacheReadTokens"),
      outputTokens: figure("outputTokens"),
      dollars: figure("dollars"),
      ms: figure("ms"),
    },
    scores: Object.fromEntries(
      [...scored].map((name) => [name, figureOf(sessions, ({ scores }) => ownScore(scores, name))]),
    ),
    first: firstToRead(sessions),
    sessions,
  };
}

function byVerdict<Value>(of: (verdict: Verdict) => Value): Readonly<Record<Verdict, Value>> {
  const [equal, better, worse, different, stopped] = verdicts;
  return {
    equal: of(equal),
    better: of(better),
    worse: of(worse),
    different: of(different),
    stopped: of(stopped),
  };
}

function ownScore(scores: ComparedRun["scores"], name: string): Scored | undefined {
  return Object.hasOwn(scores, name) ? scores[name] : undefined;
}

function pairOf(recorded: number | undefined, candidate: number | undefined): Scored | undefined {
  return recorded === undefined || candidate === undefined ? undefined : { recorded, candidate };
}

/** Runs of one session are not independent: their mean counts once. */
function figureOf(
  sessions: readonly ReportedSession[],
  figure: (one: ReportedSession) => Scored | undefined,
): Figure {
  const bySession = [...Map.groupBy(sessions, ({ session }) => session).values()].flatMap(
    (runs) => {
      const pairs = runs.flatMap((run) => figure(run) ?? []);
      if (pairs.length === 0) return [];
      return {
        recorded: meanOf(pairs.map(({ recorded }) => recorded)).value,
        candidate: meanOf(pairs.map(({ candidate }) => candidate)).value,
      };
    },
  );
  return {
    recorded: meanOf(bySession.map(({ recorded }) => recorded)).value,
    candidate: meanOf(bySession.map(({ candidate }) => candidate)).value,
    difference: meanOf(bySession.map(({ recorded, candidate }) => candidate - recorded)),
  };
}

function reported({ pair, recorded, candidate, ...run }: ComparedSession): ReportedSession {
  return {
    ...run,
    verdict: verdictOf(run, pair),
    ...defined({ first: pair.first }),
    recorded: recorded.totals,
    candidate: candidate.totals,
    turns: reportedTurns(pair.turns),
  };
}

/** Both lanes side by side, without prompts. */
export function reportedTurns(turns: Pair["turns"]): readonly ReportedTurn[] {
  return turns.map(({ recorded: was, candidate: is, differences, steps }) => ({
    turn: (is ?? was)?.turn ?? 0,
    message: cutShort((was ?? is)?.message ?? "", TEXT_LENGTH),
    files: (was ?? is)?.files ?? [],
    ...defined({ recorded: was && endText(was), candidate: is && endText(is) }),
    differences,
    steps: steps.map((row) => ({
      ...defined({
        recorded: row.recorded && reportedStep(row.recorded),
        candidate: row.candidate && reportedStep(row.candidate),
      }),
      differences: row.differences,
    })),
  }));
}

/** What the user said, what the steps did, how the turn ended. */
export function inOrder({
  differences,
  steps,
}: Pick<ReportedTurn, "differences" | "steps">): readonly Difference[] {
  const isFirst = ({ kind }: Difference): boolean => kind === "message";
  return [
    ...differences.filter(isFirst),
    ...steps.flatMap((row) => row.differences),
    ...differences.filter((one) => !isFirst(one)),
  ];
}

function verdictOf({ scores, stopped }: ComparedRun, pair: Pair): Verdict {
  if (stopped === undefined && pair.verdict === "equal") return "equal";
  const gains = Object.values(scores).map(({ recorded, candidate }) => candidate - recorded);
  const gain = sum(gains.length > 0 ? gains : stopped === undefined ? [moreFinished(pair)] : []);
  if (gain !== 0) return gain > 0 ? "better" : "worse";
  return stopped === undefined ? "different" : "stopped";
}

/** How many more turns finished. */
function moreFinished({ turns }: Pair): number {
  return sum(
    turns.map(({ recorded, candidate }) => +hasFinished(candidate) - +hasFinished(recorded)),
  );
}

function hasFinished(turn: LaneTurn | undefined): boolean {
  return (turn?.end === "stop" || turn?.end === "stop-condition") && turn.error === undefined;
}

function reportedStep({ step, text, end, error, calls }: LaneStep): ReportedStep {
  return {
    step,
    text: cutShort(text, TEXT_LENGTH),
    end,
    ...defined({ error }),
    calls: calls.map(({ toolName, outcome, input, output, error: why }) => ({
      toolName,
      outcome,
      input: cutShort(JSON.stringify(input), VALUE_LENGTH),
      ...defined({
        result: output === undefined ? why : cutShort(JSON.stringify(output), VALUE_LENGTH),
      }),
    })),
  };
}

interface Weighed extends Reading {
  /** The loss of score, worse ends, misses, different calls, other differences: the first that differs decides. */
  readonly weights: readonly number[];
}

function firstToRead(sessions: readonly ReportedSession[]): readonly Reading[] {
  return sessions
    .flatMap((one) => weighed(one) ?? [])
    .toSorted((one, other) => {
      const index = one.weights.findIndex((weight, place) => weight !== other.weights[place]);
      return (other.weights[index] ?? 0) - (one.weights[index] ?? 0);
    })
    .slice(0, FIRST)
    .map(({ session, run, reason }) => ({ session, run, reason }));
}

function weighed(one: ReportedSession): Weighed | undefined {
  const { session, run, scores, verdict, turns, misses, stopped, first } = one;
  const [loss] = Object.entries(scores)
    .map(([name, { recorded, candidate }]) => ({ name, recorded, candidate }))
    .toSorted((left, right) => left.candidate - left.recorded - (right.candidate - right.recorded));
  const lost = loss === undefined ? 0 : Math.max(0, loss.recorded - loss.candidate);
  const differences = turns.flatMap(inOrder);
  const calls = differences.filter(({ kind }) => callKinds.has(kind));
  const isWorse = verdict === "worse" || stopped?.at === "failure";
  const end = turns.flatMap((turn) => turn.differences).find(({ kind }) => kind === "end");
  const [miss] = misses;
  const reason = [
    lost > 0 && loss && `The score ${loss.name} fell from ${loss.recorded} to ${loss.candidate}.`,
    isWorse && (stopped?.why ?? end?.sentence),
    stopped?.why,
    miss && `Step ${miss.step}: the recording has no answer to ${callText(miss)}.`,
    calls[0]?.sentence,
    first,
  ].find((words) => typeof words === "string");
  if (typeof reason !== "string") return undefined;
  const weights = [lost, +isWorse, misses.length, calls.length, differences.length];
  return { session, run, reason, weights };
}

const callKinds: ReadonlySet<Difference["kind"]> = new Set([
  "call-missing",
  "call-new",
  "input",
  "approval",
  "outcome",
  "output",
]);

// The figures of a comparison as rows of text, for pages and terminals. Pure.

/** Means per session. */
export interface ShownFigure {
  readonly name: string;
  readonly recorded: string;
  readonly candidate: string;
  readonly difference: string;
  /** 95 %. Absent where the figures allow none. */
  readonly interval?: string;
  /** Whether the interval is on one side of zero. */
  readonly isClear: boolean;
  readonly sessions: number;
}

/** Scores first. Without what no session has. */
export function shownFigures({ totals, scores }: Comparison): readonly ShownFigure[] {
  const rows = [
    ...Object.entries(scores).map(([name, one]) => [`Score ${name}`, one] as const),
    ["Steps", totals.steps] as const,
    ["Calls", totals.calls] as const,
    ["Input tokens", totals.inputTokens] as const,
    ["Read from the cache", totals.cacheReadTokens] as const,
    ["Output tokens", totals.outputTokens] as const,
    ["Dollars", totals.dollars] as const,
    ["Milliseconds", totals.ms] as const,
  ];
  return rows.flatMap(([name, { recorded, candidate, difference }]) => {
    const { value, low, high, n } = difference;
    if (n === 0) return [];
    const hasInterval = low !== undefined && high !== undefined;
    return {
      name,
      recorded: shownNumber(recorded),
      candidate: shownNumber(candidate),
      difference: `${value > 0 ? "+" : ""}${shownNumber(value)}`,
      ...(hasInterval && { interval: `${shownNumber(low)} to ${shownNumber(high)}` }),
      isClear: hasInterval && (low > 0 || high < 0),
      sessions: n,
    };
  });
}

export function shownNumber(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}

// Means and shares with 95 % intervals. Pure.

/** `low` and `high` are absent where the figures allow no interval. */
interface Estimate {
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
  readonly n: number;
}

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959_963_984_540_054;

/** Those of Student's t for few degrees of freedom, from 1 (NIST/SEMATECH e-Handbook, 1.3.6.7.2). */
const FEW = [12.706_2, 4.302_7, 3.182_4, 2.776_4];

/** The 97.5 % quantile of Student's t. From 5 degrees on, Abramowitz and Stegun 26.7.5 is right to 0.001. */
export function studentQuantile(degrees: number): number {
  const few = FEW[degrees - 1];
  if (few !== undefined) return few;
  const terms = [
    (Z ** 3 + Z) / 4,
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
    (79 * Z ** 9 + 776 * Z ** 7 + 1482 * Z ** 5 - 1920 * Z ** 3 - 945 * Z) / 92_160,
  ];
  return terms.reduce((sum, term, index) => sum + term / degrees ** (index + 1), Z);
}

/** The mean of figures, of pairs their differences, with Student's interval: mean ± t · s / √n. */
export function meanOf(figures: readonly number[]): Estimate {
  const n = figures.length;
  const value = figures.reduce((one, other) => one + other, 0) / Math.max(1, n);
  if (n < 2) return { value, n };
  const squares = figures.reduce((sum, figure) => sum + (figure - value) ** 2, 0);
  const half = studentQuantile(n - 1) * Math.sqrt(squares / (n - 1) / n);
  return { value, low: value - half, high: value + half, n };
}

/** A share with the interval of Wilson (1927), which holds for small sets and for shares of 0 and 1. */
export function shareOf(count: number, n: number): Estimate {
  if (n === 0) return { value: 0, n };
  const value = count / n;
  const scale = 1 + Z ** 2 / n;
  const center = (value + Z ** 2 / (2 * n)) / scale;
  const half = (Z / scale) * Math.sqrt((value * (1 - value)) / n + Z ** 2 / (4 * n ** 2));
  return { value, low: Math.max(0, center - half), high: Math.min(1, center + half), n };
}
