/** The estimate of the next prompt and the limits of its model, from a session's state. Pure. */

import type { ModelMessage } from "ai";
import {
  compactionDue,
  estimateContext,
  modelLimits,
  promptCache,
  resized,
  sessionCost,
  type CompactionDue,
  type CompactionFacts,
  type ContextEstimate,
  type KnownLimits,
  type ModelCatalogue,
  type ModelLimits,
  type PromptCache,
  type SessionCost,
} from "../../context/index.ts";
import { deepFreeze, ownCopy, type ModelName, defined } from "../../events/index.ts";
import {
  compactions,
  promptCounts,
  promptMessages,
  spending,
  usage,
  type Spending,
} from "../../projections/index.ts";
import { compactionChoice, type Agent, type PreparedAgent } from "../../agent/index.ts";
import { isInTurn, type SessionState } from "../../state/index.ts";

export interface PromptSetup {
  readonly prepared: PreparedAgent;
  readonly catalogue: ModelCatalogue;
}

export interface FiguresSetup extends Pick<PromptSetup, "catalogue"> {
  readonly prepared: Omit<PreparedAgent, "agent" | "texts" | "settings"> & {
    readonly agent: Pick<Agent, "context" | "maxOutputTokens" | "promptCache" | "toolChoice">;
  };
  /** Tokens of instructions and tools, if their texts are not available. */
  readonly standing?: number;
}

/**
 * The figures of a session's context: the next prompt, its model, tokens and cost so far.
 * @example
 * const { limits, due, cost } = await session.context();
 * console.log(limits, due, cost.total.dollars);
 */
export interface ContextFigures extends Omit<ContextEstimate, "recorded"> {
  readonly model: ModelName;
  readonly limits: ModelLimits;
  /** What the next step does about the size; `wait` is nothing. It begins no compaction that would save too little. */
  readonly due: CompactionDue;
  readonly spending: Spending;
  readonly cost: SessionCost;
}

export function knownLimits({ learnedLimits }: SessionState, setup: FiguresSetup): KnownLimits {
  const { limits: overrides } = setup.prepared.agent.context ?? {};
  return defined({ catalogue: setup.catalogue, learned: learnedLimits, overrides });
}

/** The limits of a model at a time (epoch milliseconds), with the agent's own `maxOutputTokens`. */
export function limitsNow(
  state: SessionState,
  setup: FiguresSetup,
  now: number,
  model: ModelName = setup.prepared.description.model,
): ModelLimits {
  const { agent } = setup.prepared;
  const limits = modelLimits(model, now, knownLimits(state, setup));
  const ownLimit = agent.maxOutputTokens;
  if (ownLimit === undefined) return limits;
  return { ...limits, maxOutputTokens: Math.min(ownLimit, limits.maxOutputTokens ?? ownLimit) };
}

function mustCall(toolChoice: Agent["toolChoice"]): boolean {
  return toolChoice === "required" || typeof toolChoice === "object";
}

/** The estimate of the next prompt. Its cost is proportional to what is new since the last step. */
export function nextEstimate(
  state: SessionState,
  setup: FiguresSetup,
  now: number,
  messages?: readonly ModelMessage[],
): ContextEstimate {
  const { agent, description, instructions, tools } = setup.prepared;
  const { history, view, calibration, counts } = state;
  const { estimator } = agent.context ?? {};
  const { standing } = setup;
  return estimateContext({
    model: description.model,
    instructions,
    tools,
    mustCall: mustCall(agent.toolChoice),
    history,
    view,
    usage: state.usage,
    calibration,
    counts,
    limits: limitsNow(state, setup, now),
    ...defined({ scale: state.compactions.scale, standing, estimator, messages }),
  });
}

/** A prompt before its step: its session state, its agent, the time (epoch milliseconds) and its estimated size. */
export interface Place<Setup extends FiguresSetup = PromptSetup> {
  readonly state: SessionState;
  readonly setup: Setup;
  readonly now: number;
  readonly messages: readonly ModelMessage[];
  readonly estimate: ContextEstimate;
}

/** The next prompt with its estimate, made together since both read every message. */
export function placeAt<Setup extends FiguresSetup>(
  state: SessionState,
  setup: Setup,
  now: number,
): Place<Setup> {
  const messages = promptMessages(state.history, state.view);
  return { state, setup, now, messages, estimate: nextEstimate(state, setup, now, messages) };
}

/**
 * Tokens of the next prompt by the estimator alone, without bills and counts: comparable before and after
 * a change.
 */
export function plainTokens(state: SessionState, setup: FiguresSetup, now: number): number {
  const unknown = {
    ...state,
    usage: usage.initial,
    counts: promptCounts.initial,
    compactions: compactions.initial,
  };
  return nextEstimate(unknown, setup, now).tokens;
}

/** The provider's cache at the next step. */
export function cacheAt({ state, setup, now }: Place<FiguresSetup>): PromptCache {
  const { agent, description } = setup.prepared;
  const ttl = typeof agent.promptCache === "object" ? agent.promptCache.ttl : undefined;
  return promptCache(state.usage, description.model, limitsNow(state, setup, now), now, ttl);
}

function factsAt(place: Place<FiguresSetup>): CompactionFacts {
  const { state, now, estimate } = place;
  const { history, machine, usage, compactions } = state;
  const last = usage.steps.at(-1);
  return {
    history,
    tokens: estimate.tokens,
    ...(estimate.room && { window: estimate.room.window }),
    turns: compactions.turns,
    steps: isInTurn(machine) ? machine.context.stepsInTurn : 0,
    ...(last && { idleMs: now - last.time }),
    isCached: cacheAt(place).warm,
  };
}

/** What the next step does about the size of its prompt: the one question to the agent's trigger. */
export function dueNow(place: Place<FiguresSetup>): CompactionDue {
  const { state, setup, estimate } = place;
  const choice = compactionChoice(setup.prepared.agent.context);
  if (choice === undefined) return "wait";
  // The attempts before a turn do not count for its first step.
  const tried = isInTurn(state.machine) ? {} : { attempts: 0 };
  return compactionDue(choice.when, estimate, factsAt(place), { ...state.compactions, ...tried });
}

/** Whether a prompt of so many tokens would be compacted, whatever the last compaction left. */
export function wouldCompact(
  place: Place<FiguresSetup>,
  tokens: number = place.estimate.tokens,
): boolean {
  const { turns } = place.state.compactions;
  const state = { ...place.state, compactions: { ...compactions.initial, turns } };
  return dueNow({ ...place, state, estimate: resized(place.estimate, tokens) }) === "compact";
}

export function contextFigures(place: Place<FiguresSetup>): ContextFigures {
  const { state, setup, now } = place;
  const { recorded: _, ...estimate } = place.estimate;
  return deepFreeze({
    ...estimate,
    model: setup.prepared.description.model,
    // A copy: a catalogue or a user may share the object.
    limits: ownCopy(limitsNow(state, setup, now)),
    due: dueNow(place),
    spending: spending(state.usage),
    cost: sessionCost(state.usage, knownLimits(state, setup)),
  });
}
