/**
 * Two lanes side by side, by turn and by step, and what differs in each, in sentences. Inputs and outputs are
 * compared as JSON; ids of calls, providers' metadata and the order of calls in one step are free. What differs
 * besides the messages (instructions, tools, settings, model) is said where it begins. Pure.
 */

import type { ModelMessage } from "ai";
import { isDeepStrictEqual } from "node:util";
import { visibleWord, type JsonValue } from "../events/index.ts";
import { standingChanges, type StandingChange } from "../projections/index.ts";
import type { Lane, LaneCall, LaneStep, LaneTurn } from "./lane.ts";
import {
  apart,
  callText,
  doneText,
  endText,
  modelText,
  outcomeText,
  sameJson,
  standingSentence,
  valueDifference,
} from "./words.ts";

/**
 * What may differ: `tool-descriptions` are descriptions and input schemas of tools, `text` what the model says
 * besides its calls.
 */
export type PairAllowed = (typeof allowances)[number];

export const allowances = [
  "instructions",
  "tool-descriptions",
  "model",
  "settings",
  "text",
] as const;

export interface PairOptions {
  /** Whether two inputs of a tool mean the same. Default: they are equal as JSON. */
  readonly same?: (toolName: string, recorded: JsonValue, candidate: JsonValue) => boolean;
  readonly allow?: readonly PairAllowed[];
}

export type DifferenceKind =
  /** A turn or a step that only one of both has. */
  | "turn-missing"
  | "turn-new"
  | "step-missing"
  | "step-new"
  /** What the user said. */
  | "message"
  | "prompt"
  | "model"
  | "call-missing"
  | "call-new"
  | "input"
  /** A person is asked about it in one lane only. */
  | "approval"
  | "outcome"
  | "output"
  | "text"
  | "end";

export interface Difference {
  readonly kind: DifferenceKind;
  readonly sentence: string;
}

export interface PairedStep {
  readonly recorded?: LaneStep;
  readonly candidate?: LaneStep;
  readonly differences: readonly Difference[];
}

export interface PairedTurn {
  readonly recorded?: LaneTurn;
  readonly candidate?: LaneTurn;
  readonly steps: readonly PairedStep[];
  /** Of the turn as a whole. */
  readonly differences: readonly Difference[];
}

export interface Pair {
  readonly verdict: "equal" | "different";
  /** The first difference, in a sentence. */
  readonly first?: string;
  readonly turns: readonly PairedTurn[];
}

/** What was recorded, and what a candidate did in its place. */
export function pair(recorded: Lane, candidate: Lane, options: PairOptions = {}): Pair {
  const pairing = new Pairing(options);
  const [one, other] = [stepsByTurn(recorded), stepsByTurn(candidate)];
  const turns = zip(recorded.turns, candidate.turns).map(([was, is]) =>
    pairing.turn(was, is, one.get(was?.turn) ?? [], other.get(is?.turn) ?? []),
  );
  const { first } = pairing;
  return first === undefined ? { verdict: "equal", turns } : { verdict: "different", first, turns };
}

function stepsByTurn({ steps }: Lane): ReadonlyMap<number | undefined, readonly LaneStep[]> {
  return Map.groupBy(steps, ({ turn }): number | undefined => turn);
}

function zip<Item>(
  one: readonly Item[],
  other: readonly Item[],
): readonly (readonly [Item | undefined, Item | undefined])[] {
  return Array.from(
    { length: Math.max(one.length, other.length) },
    (_, index) => [one[index], other[index]] as const,
  );
}

class Pairing {
  readonly #same: NonNullable<PairOptions["same"]>;
  readonly #allow: ReadonlySet<PairAllowed>;
  #first: string | undefined;
  /** Sentences about what stood in the last step: what lasts is not said again. */
  #standing: ReadonlySet<string> = new Set();
  #isFirstStep = true;

  constructor({ same = (_, one, other) => sameJson(one, other), allow = [] }: PairOptions) {
    this.#same = same;
    this.#allow = new Set(allow);
  }

  get first(): string | undefined {
    return this.#first;
  }

  turn(
    was: LaneTurn | undefined,
    is: LaneTurn | undefined,
    recorded: readonly LaneStep[],
    candidate: readonly LaneStep[],
  ): PairedTurn {
    const before = this.#found(messageDifference(was, is));
    const rows = zip(recorded, candidate);
    const common = Math.min(recorded.length, candidate.length);
    const paired = rows.slice(0, common).map(([one, other]) => this.#step(one, other));
    // How the turn ended says why steps are missing or new.
    const after = this.#found(turnEndDifference(was, is));
    const rest = rows.slice(common).map(([one, other]) => this.#step(one, other));
    return {
      ...(was && { recorded: was }),
      ...(is && { candidate: is }),
      steps: [...paired, ...rest],
      differences: [...before, ...after],
    };
  }

  #found(differences: readonly Difference[]): readonly Difference[] {
    this.#first ??= differences[0]?.sentence;
    return differences;
  }

  #step(recorded: LaneStep | undefined, candidate: LaneStep | undefined): PairedStep {
    return {
      ...(recorded && { recorded }),
      ...(candidate && { candidate }),
      differences: this.#found([...this.#stepDifferences(recorded, candidate)]),
    };
  }

  *#stepDifferences(
    was: LaneStep | undefined,
    is: LaneStep | undefined,
  ): Generator<Difference, void> {
    if (was === undefined || is === undefined) {
      if (is !== undefined)
        yield {
          kind: "step-new",
          sentence: `Step ${is.step} is new: it ${doneText(is)}.`,
        };
      if (was !== undefined)
        yield {
          kind: "step-missing",
          sentence: `Step ${was.step} is missing: in the recording, it ${doneText(was)}.`,
        };
      return;
    }
    yield* this.#standingDifferences(was, is);
    if (this.#first === undefined) yield* promptDifference(was, is);
    const calls = [...this.#callDifferences(was, is)];
    yield* calls;
    const at = `Step ${is.step}`;
    if (was.text !== is.text && !this.#allow.has("text")) {
      const [now, before] = apart(is.text, was.text);
      yield { kind: "text", sentence: `${at} says ${now}, the recording said ${before}.` };
    }
    // Other calls lead to another end.
    if (was.end !== is.end && !calls.some(({ kind }) => kind.startsWith("call-")))
      yield {
        kind: "end",
        sentence: `${at} ended with ${stepEnd(is)}, the recording with ${stepEnd(was)}.`,
      };
  }

  *#standingDifferences(was: LaneStep, is: LaneStep): Generator<Difference, void> {
    const found = standingChanges(was.standing, is.standing)
      .filter((change) => !this.#mayChange(change))
      .map((change): Difference => {
        const sentence = standingSentence(change, was.standing, is.standing);
        return { kind: "prompt", sentence };
      });
    if (!isDeepStrictEqual(was.model, is.model) && !this.#allow.has("model"))
      found.unshift({
        kind: "model",
        sentence: `The model is ${modelText(is.model)} and was ${modelText(was.model)}.`,
      });
    const before = this.#standing;
    const place = this.#isFirstStep ? "" : `From step ${is.step} on: `;
    this.#standing = new Set(found.map(({ sentence }) => sentence));
    this.#isFirstStep = false;
    for (const { kind, sentence } of found)
      if (!before.has(sentence)) yield { kind, sentence: place + sentence };
  }

  #mayChange({ part, ...change }: StandingChange): boolean {
    if (part === "tool") return change.kind === "changed" && this.#allow.has("tool-descriptions");
    return part !== "tools" && this.#allow.has(part);
  }

  *#callDifferences(was: LaneStep, is: LaneStep): Generator<Difference, void> {
    const at = `Step ${is.step}`;
    const missing = [...was.calls];
    const matched = new Map<LaneCall, LaneCall>();
    const match = (fits: (one: LaneCall, other: LaneCall) => boolean): void => {
      for (const call of is.calls) {
        if (matched.has(call)) continue;
        const index = missing.findIndex((one) => one.toolName === call.toolName && fits(one, call));
        const [found] = index === -1 ? [] : missing.splice(index, 1);
        if (found !== undefined) matched.set(call, found);
      }
    };
    match((one, other) => this.#isSame(one, other) && hasSameResult(one, other));
    match((one, other) => this.#isSame(one, other));
    match(() => true);
    for (const call of is.calls) {
      const one = matched.get(call);
      const name = visibleWord(call.toolName);
      if (one === undefined) {
        const [other] = missing;
        const instead =
          other === undefined
            ? `the recording ${was.calls.length === 0 ? "called nothing" : "did not"}`
            : `the recording called ${visibleWord(other.toolName)}`;
        yield { kind: "call-new", sentence: `${at} calls ${callText(call)}, ${instead}.` };
        continue;
      }
      if (!this.#isSame(one, call))
        yield {
          kind: "input",
          sentence: `${at} calls ${name} with another input: ${valueDifference(call.input, one.input)}.`,
        };
      if (one.asked !== call.asked)
        yield {
          kind: "approval",
          sentence: call.asked
            ? `${at}: ${name} asks for approval, and did not in the recording.`
            : `${at}: ${name} does not ask for approval, as it did in the recording.`,
        };
      if (one.outcome !== call.outcome)
        yield {
          kind: "outcome",
          sentence: `${at}: the call of ${name} is ${outcomeText(call)}, in the recording ${outcomeText(one)}.`,
        };
      else if (!hasSameResult(one, call)) {
        const [thing, now, before] =
          call.outcome === "succeeded"
            ? (["output", call.output, one.output] as const)
            : (["error", call.error, one.error] as const);
        yield {
          kind: "output",
          sentence: `${at}: ${name} gave another ${thing}: ${valueDifference(now, before)}.`,
        };
      }
    }
    for (const call of missing)
      yield {
        kind: "call-missing",
        sentence: `${at} does not call ${callText(call)}, as the recording did.`,
      };
  }

  #isSame(recorded: LaneCall, candidate: LaneCall): boolean {
    return this.#same(candidate.toolName, recorded.input, candidate.input);
  }
}

function hasSameResult(one: LaneCall, other: LaneCall): boolean {
  return (
    one.outcome === other.outcome && one.error === other.error && sameJson(one.output, other.output)
  );
}

function stepEnd({ end, error }: LaneStep): string {
  return error === undefined ? end : `${end} (${visibleWord(error)})`;
}

function messageDifference(
  was: LaneTurn | undefined,
  is: LaneTurn | undefined,
): readonly Difference[] {
  if (was === undefined || is === undefined || was.message === is.message) return [];
  const [now, before] = apart(is.message, was.message);
  const sentence = `Turn ${is.turn} begins with another message: it is ${now} and was ${before}.`;
  return [{ kind: "message", sentence }];
}

function turnEndDifference(
  was: LaneTurn | undefined,
  is: LaneTurn | undefined,
): readonly Difference[] {
  if (was === undefined)
    return is === undefined
      ? []
      : [{ kind: "turn-new", sentence: `Turn ${is.turn} is new: it ${endText(is)}.` }];
  if (is === undefined)
    return [
      {
        kind: "turn-missing",
        sentence: `Turn ${was.turn} is missing: in the recording, it ${endText(was)}.`,
      },
    ];
  if (was.end === is.end && was.error === is.error) return [];
  const sentence = `Turn ${is.turn} ${endText(is)}; the recorded turn ${endText(was)}.`;
  return [{ kind: "end", sentence }];
}

/** Replies and their calls were compared as steps: here count what the user, notes, summaries and results say. */
function* promptDifference(was: LaneStep, is: LaneStep): Generator<Difference, void> {
  if (was.promptDigest === is.promptDigest) return;
  const at = `Step ${is.step} gets another prompt`;
  const [before, now] = [was, is].map((step) => step.messages().map(substance));
  for (const [index, [one, other]] of zip(before ?? [], now ?? []).entries()) {
    if (isDeepStrictEqual(one, other)) continue;
    const role = (other ?? one)?.role ?? "";
    const sentence =
      one === undefined || other === undefined
        ? `${at}: its message ${index + 1} (${role}) is ${one === undefined ? "new" : "missing"}.`
        : `${at}: in its message ${index + 1} (${role}), ${valueDifference(other, one)}.`;
    yield { kind: "prompt", sentence };
    return;
  }
}

interface Substance {
  readonly role: string;
  readonly content: unknown;
}

function substance(message: ModelMessage): Substance {
  const { role } = message;
  switch (role) {
    case "assistant":
      return { role, content: "" };
    case "tool":
      return {
        role,
        content: message.content
          .map((part) => JSON.stringify(part.type === "tool-result" ? part.output : part.type))
          .toSorted(),
      };
    case "user":
    case "system":
      return { role, content: message.content };
  }
}
