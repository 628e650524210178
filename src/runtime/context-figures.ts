/** The size of the next prompt and what is known of the model, from a session's state. Pure. */

import type { ModelMessage } from "ai";
import {
  estimateContext,
  modelLimits,
  sessionCost,
  type ContextEstimate,
  type KnownLimits,
  type ModelCatalogue,
  type ModelLimits,
  type SessionCost,
} from "../context/index.ts";
import type { ModelName } from "../events/index.ts";
import { spending, type Spending } from "../projections/index.ts";
import type { PreparedAgent } from "./agent.ts";
import type { SessionState } from "./session-state.ts";

/** Who is to be prompted, and where figures of its model come from. */
export interface ContextGround {
  readonly prepared: PreparedAgent;
  readonly catalogue: ModelCatalogue;
}

/** The figures of a session's context: the next prompt, its model, and what was spent so far. */
export interface ContextFigures extends Omit<ContextEstimate, "recorded"> {
  readonly model: ModelName;
  readonly limits: ModelLimits;
  readonly spending: Spending;
  readonly cost: SessionCost;
}

function knownLimits({ learnedLimits }: SessionState, ground: ContextGround): KnownLimits {
  const { limits: overrides } = ground.prepared.agent.context ?? {};
  return {
    catalogue: ground.catalogue,
    learned: learnedLimits,
    ...(overrides === undefined ? {} : { overrides }),
  };
}

/** What is known of the agent's model now (epoch milliseconds); a reply's limit that was set is it. */
export function limitsNow(state: SessionState, ground: ContextGround, now: number): ModelLimits {
  const { agent, description } = ground.prepared;
  const limits = modelLimits(description.model, now, knownLimits(state, ground));
  const asked = agent.settings?.maxOutputTokens;
  if (asked === undefined) return limits;
  return { ...limits, maxOutputTokens: Math.min(asked, limits.maxOutputTokens ?? asked) };
}

/** The estimate of what the next step would send, costing what is new since the last. */
export function nextEstimate(
  state: SessionState,
  ground: ContextGround,
  now: number,
  messages?: readonly ModelMessage[],
): ContextEstimate {
  const { agent, description, instructions, tools } = ground.prepared;
  const { history, view, usage, calibration } = state;
  const { estimator } = agent.context ?? {};
  return estimateContext({
    model: description.model,
    instructions,
    tools,
    history,
    view,
    usage,
    calibration,
    limits: limitsNow(state, ground, now),
    ...(estimator === undefined ? {} : { estimator }),
    ...(messages === undefined ? {} : { messages }),
  });
}

/** What `session.context()` answers. */
export function contextFigures(
  state: SessionState,
  ground: ContextGround,
  now: number,
): ContextFigures {
  const { recorded: _, ...estimate } = nextEstimate(state, ground, now);
  return {
    ...estimate,
    model: ground.prepared.description.model,
    limits: limitsNow(state, ground, now),
    spending: spending(state.usage),
    cost: sessionCost(state.usage, knownLimits(state, ground)),
  };
}
