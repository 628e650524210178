/**
 * The way from a session's history to the request of a step, stage by stage. A stage looks at the prompt as the
 * stages before it have left it and answers with an event, whose fold changes the prompt; undoing the event brings
 * back what was there. docs/context.md tells the same in the same order. Pure.
 */

import {
  PRUNE_DEFAULTS,
  SHORTEST_LIFETIME_MS,
  unsentMessages,
  type CompactionStrategy,
} from "../../context/index.ts";
import { defined, type EventBody } from "../../events/index.ts";
import { compactions, isTooLarge, noUsage } from "../../projections/index.ts";
import { compactionChoice, type ContextOptions } from "../../agent/index.ts";
import type { SessionState } from "../../state/index.ts";
import { caseOf, isInVain } from "./compaction-end.ts";
import { dueNow, type Place } from "./context-figures.ts";
import {
  budgetBelow,
  cutsWithin,
  omissionBelow,
  pruningFor,
  REFUSED_SHARE,
  refusedLimit,
  refusedTokens,
  stepBudget,
} from "./headroom.ts";
import { reductionAfter, type Refusal } from "./refused-prompt.ts";

interface Stage {
  readonly name: string;
  /** The agent's setting for it. */
  readonly setting?: string;
  /** What it records. */
  readonly event: EventBody["type"];
  /** What undoes the event: a command, or the end of the turn. */
  readonly undo?: "restore" | "turn.ended";
}

/** A stage before each step. */
interface StepStage extends Stage {
  /** The event that the next prompt needs, if any. */
  readonly now: (place: Place) => EventBody | undefined;
}

/** A stage after the provider refused the prompt as too long. */
interface ShorteningStage extends StepStage {
  readonly refused: (place: Place) => EventBody | undefined;
  /** Whether the prompt may be sent again after that. */
  readonly isEnough: (place: Place) => boolean;
}

/** A stage after the provider refused the conversation. */
interface RefusalStage extends Stage {
  readonly refused: (place: Place, refusal: Refusal) => EventBody | undefined;
}

/** The agent's function changes messages, instructions or settings. It is awaited: `StepBoundary` calls it. */
const prepare: Stage = {
  name: "prepare",
  setting: "prepareStep",
  event: "step.prepared",
  undo: "turn.ended",
};

/** New results and inputs of calls that are too long show their beginning and end. */
const cut: ShorteningStage = {
  name: "cut",
  setting: "context.cut",
  event: "context.cut",
  undo: "restore",
  now: (place) => cutsWithin(place, stepBudget(place)),
  refused(place) {
    const { compactions, machine } = place.state;
    const isTried = compactions.trigger === "overflow" && compactions.attempts > 0;
    if (isTried || machine.context.stopping !== undefined) return undefined;
    return cutsWithin(place, budgetBelow(refusedLimit(place), place));
  },
  isEnough: (place) => place.estimate.tokens <= refusedLimit(place),
};

/** Placeholders replace old results. */
const prune: StepStage = {
  name: "prune",
  setting: "context.prune",
  event: "context.pruned",
  undo: "restore",
  now: (place) => (isWorthALook(place) ? pruningFor(place, "step") : undefined),
};

/** Notes replace the oldest media. */
const omit: ShorteningStage = {
  name: "omit",
  setting: "context.media",
  event: "context.media-omitted",
  undo: "restore",
  now: (place) => omissionBelow(place),
  refused(place) {
    const { history, machine } = place.state;
    const { error } = history.open ?? {};
    if (error === undefined || !isTooLarge(error) || machine.context.stopping !== undefined)
      return undefined;
    return omissionBelow(place, REFUSED_SHARE * place.estimate.bytes);
  },
  isEnough: () => true,
};

/** A strategy replaces the old part. It runs after `context.compaction-started`, and the step begins anew. */
const compact: StepStage = {
  name: "compact",
  setting: "context.compact",
  event: "context.compacted",
  undo: "restore",
  now(place) {
    const choice = compactionChoice(place.setup.prepared.agent.context);
    if (choice === undefined || dueNow(place) !== "compact") return undefined;
    const data = { trigger: "limit", strategy: choice.how.name } as const;
    const begun = { type: "context.compaction-started", data } as const;
    return isVain(place, begun) ? undefined : begun;
  },
};

/** The messages become a request, with other call ids and cache marks where its provider needs them. */
const send: Stage = { name: "send", setting: "promptCache", event: "step.started" };

/** The provider refused the prompt as too long: `afterTooLong` makes it shorter. */
const shorten: Stage = { name: "shorten", event: "context.overflowed" };

/** The provider refused the conversation: the next attempt says less of it. */
const reduce: RefusalStage = {
  name: "reduce",
  setting: "context.onRefusal",
  event: "context.reduced",
  undo: "restore",
  refused: reductionAfter,
};

export const pipeline: readonly Stage[] = [
  prepare,
  cut,
  prune,
  omit,
  compact,
  send,
  shorten,
  reduce,
];

export const beforeStep: readonly StepStage[] = [cut, prune, omit, compact];

/** Until one is enough; then `afterOverflow` decides. */
export const afterTooLong: readonly ShorteningStage[] = [omit, cut];

export const afterRefusal: RefusalStage = reduce;

/** A look at all old results is worth its time once a turn, after a pause, and whenever the prompt has grown. */
function isWorthALook({ state, setup, now, estimate }: Place): boolean {
  const { prune = {} } = setup.prepared.agent.context ?? {};
  if (prune === false) return false;
  const { protectTokens, minimumGain } = { ...PRUNE_DEFAULTS, ...defined(prune) };
  // A smaller prompt has nothing to prune.
  if (estimate.tokens < protectTokens + minimumGain) return false;
  const last = state.usage.steps.at(-1);
  if (last?.turn !== state.history.turn || now - last.time > SHORTEST_LIFETIME_MS) return true;
  const looks = (tokens: number): number => Math.floor(tokens / Math.max(1, minimumGain / 2));
  return looks(estimate.tokens) > looks(last.usage.inputTokens);
}

/** The agent's strategy; without one, what was never sent can still be left out. */
export function strategyOf(context: ContextOptions | undefined): CompactionStrategy {
  return compactionChoice(context)?.how ?? unsentMessages;
}

/** Whether a compaction that begins so would be rejected: a log has no use for both. */
function isVain(place: Place, begun: EventBody<"context.compaction-started">): boolean {
  const { state, setup, now } = place;
  const event = { position: state.position + 1, time: now, ...begun };
  const tried = { ...state, compactions: compactions.fold(state.compactions, event) };
  return isInVain(caseOf({ ...place, state: tried }, strategyOf(setup.prepared.agent.context)));
}

// What follows when a prompt that was refused as too long is not short enough yet.

/** How often a step's prompt may be refused before the step fails. */
export const MOST_REFUSALS = 2;
/** Compactions for one step in all. */
const MOST_ATTEMPTS = 3;

/** The act after a refusal that is not in vain. */
export function nextAfterOverflow(place: Place): EventBody | "retry" {
  const { context } = place.setup.prepared.agent;
  const refused = { hasUnsent: hasUnsent(place), isShorter: isShorter(place) };
  const next = afterOverflow(place.state, context, refused);
  if (next === "retry" || next.type !== "context.compaction-started" || !isVain(place, next))
    return next;
  return afterOverflow(place.state, { compact: false }, { ...refused, hasUnsent: false });
}

interface RefusedPrompt {
  /** It has messages that were never answered, and that can be left out without a strategy. */
  readonly hasUnsent: boolean;
  /** It was cut or pruned since, and may fit now. */
  readonly isShorter: boolean;
}

/** The next act after a refusal: a compaction, another attempt (`retry`), or the end of the step. */
export function afterOverflow(
  { machine, compactions, history }: SessionState,
  context: ContextOptions | undefined,
  { hasUnsent, isShorter }: RefusedPrompt = { hasUnsent: false, isShorter: false },
): EventBody | "retry" {
  const { step, stopping } = machine.context;
  const { trigger, outcome, attempts } = compactions;
  const usage = noUsage;
  // Whether a compaction has begun since the refusal.
  const tried = trigger === "overflow" && attempts > 0;
  if (tried && outcome === "recovered") {
    return { type: "step.interrupted", data: { step, reason: "recovered", usage } };
  }
  if (stopping !== undefined || (tried && outcome === "cancelled")) {
    return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
  }
  if (tried && outcome === "compacted") return "retry";
  if (!tried && attempts < MOST_ATTEMPTS) {
    const how = compactionChoice(context)?.how ?? (hasUnsent ? unsentMessages : undefined);
    const data = how && ({ trigger: "overflow", strategy: how.name } as const);
    if (data !== undefined) return { type: "context.compaction-started", data };
  }
  if (isShorter) return "retry";
  const error = history.open?.error ?? { name: "Error", message: "The prompt is too long." };
  return { type: "step.failed", data: { step, kind: "context-overflow", error, usage } };
}

function hasUnsent(place: Place): boolean {
  const { history, view } = place.state;
  const budget = budgetBelow(refusedLimit(place), place);
  return unsentMessages.plan(history, view, budget) !== undefined;
}

function isShorter(place: Place): boolean {
  const { history, view } = place.state;
  const { prunings, cuts, omissions } = view;
  const { tokens, room } = place.estimate;
  const changes = [...prunings, ...cuts, ...omissions];
  const isSame = !changes.some(({ position }) => position > (history.open?.position ?? 0));
  if (isSame || tokens >= refusedTokens(place)) return false;
  return room === undefined || tokens <= room.window;
}
