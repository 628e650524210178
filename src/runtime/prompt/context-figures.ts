/** The size of the next prompt and what is known of the model, from a session's state. Pure. */

import type { ModelMessage } from "ai";
import {
  compactionDue,
  estimateContext,
  modelLimits,
  sessionCost,
  type ContextEstimate,
  type KnownLimits,
  type ModelCatalogue,
  type ModelLimits,
  type SessionCost,
} from "../../context/index.ts";
import { deepFreeze, ownCopy, type ModelName } from "../../events/index.ts";
import {
  compactions,
  promptCounts,
  promptMessages,
  spending,
  usage,
  type Spending,
} from "../../projections/index.ts";
import { compactionChoice, type Agent, type PreparedAgent } from "../../agent/index.ts";
import type { SessionState } from "../../state/index.ts";

/** Who is to be prompted, and where figures of its model come from. */
export interface PromptSetup {
  readonly prepared: PreparedAgent;
  readonly catalogue: ModelCatalogue;
}

/** The part of it that figures need. */
export interface FiguresSetup extends Pick<PromptSetup, "catalogue"> {
  readonly prepared: Omit<PreparedAgent, "agent"> & {
    readonly agent: Pick<Agent, "context" | "settings">;
  };
  /** Tokens of instructions and tools, where they themselves are not at hand. */
  readonly standing?: number;
}

/** The figures of a session's context: the next prompt, its model, and what was spent so far. */
export interface ContextFigures extends Omit<ContextEstimate, "recorded"> {
  readonly model: ModelName;
  readonly limits: ModelLimits;
  /** What is to be done about its size before the next step; `wait` is nothing. */
  readonly due: "compact" | "warn" | "wait";
  readonly spending: Spending;
  readonly cost: SessionCost;
}

function knownLimits({ learnedLimits }: SessionState, setup: FiguresSetup): KnownLimits {
  const { limits: overrides } = setup.prepared.agent.context ?? {};
  return {
    catalogue: setup.catalogue,
    learned: learnedLimits,
    ...(overrides === undefined ? {} : { overrides }),
  };
}

/** What is known of the agent's model now (epoch milliseconds); a reply's limit that was set is it. */
export function limitsNow(
  state: SessionState,
  setup: FiguresSetup,
  now: number,
  model: ModelName = setup.prepared.description.model,
): ModelLimits {
  const { agent } = setup.prepared;
  const limits = modelLimits(model, now, knownLimits(state, setup));
  const asked = agent.settings?.maxOutputTokens;
  if (asked === undefined) return limits;
  return { ...limits, maxOutputTokens: Math.min(asked, limits.maxOutputTokens ?? asked) };
}

/** The estimate of what the next step would send, costing what is new since the last. */
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
    history,
    view,
    usage: state.usage,
    calibration,
    counts,
    limits: limitsNow(state, setup, now),
    ...(state.compactions.scale === undefined ? {} : { scale: state.compactions.scale }),
    ...(standing === undefined ? {} : { standing }),
    ...(estimator === undefined ? {} : { estimator }),
    ...(messages === undefined ? {} : { messages }),
  });
}

/** A prompt with its estimate. */
export interface EstimatedPrompt {
  readonly messages: readonly ModelMessage[];
  readonly estimate: ContextEstimate;
}

/** The next prompt; made and estimated at once, as both look at every message. */
export function nextPrompt(state: SessionState, setup: PromptSetup, now: number): EstimatedPrompt {
  const messages = promptMessages(state.history, state.view);
  return { messages, estimate: nextEstimate(state, setup, now, messages) };
}

/** Tokens of the next prompt by the same measure before and after something is left out: no bill and no count is looked at. */
export function plainTokens(state: SessionState, setup: FiguresSetup, now: number): number {
  const unknown = {
    ...state,
    usage: usage.initial,
    counts: promptCounts.initial,
    compactions: compactions.initial,
  };
  return nextEstimate(unknown, setup, now).tokens;
}

/** What `session.context()` answers. */
export function contextFigures(
  state: SessionState,
  setup: FiguresSetup,
  now: number,
): ContextFigures {
  const next = nextEstimate(state, setup, now);
  const { recorded: _, ...estimate } = next;
  const choice = compactionChoice(setup.prepared.agent.context);
  const due = choice && compactionDue(choice.when, next, state.compactions.settled);
  return deepFreeze({
    ...estimate,
    model: setup.prepared.description.model,
    // A catalogue or a user may have them for something else too.
    limits: ownCopy(limitsNow(state, setup, now)),
    due: due ?? "wait",
    spending: spending(state.usage),
    cost: sessionCost(state.usage, knownLimits(state, setup)),
  });
}
