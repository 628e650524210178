/**
 * Runs a compaction that the machine has asked for: has the prompt counted where that may spare it,
 * prunes, plans, has a summary written, and says in the log what came of it. Ends with exactly one `context.compacted` or
 * `context.compaction-rejected`; changes nothing but by its events.
 */

import {
  compactionDue,
  type CompactionPlan,
  type CompactionStrategy,
  type PlanningGround,
} from "../context/index.ts";
import type { CompactionTrigger, EventBody } from "../events/index.ts";
import { compactions, contextView } from "../projections/index.ts";
import { limitsNow, nextEstimate, plainTokens, type ContextGround } from "./context-figures.ts";
import { compactionChoice } from "./context-options.ts";
import { toStoredError } from "./json-value.ts";
import { countPrompt } from "./prompt-count.ts";
import { compactionGround, pruningNow } from "./prompt-room.ts";
import type { SessionDoor } from "./session-door.ts";
import type { SessionState } from "./session-state.ts";
import type { StepSource } from "./step-source.ts";
import { climbDown, type Ladder } from "./summary-ladder.ts";

/** A compaction that does not save at least a tenth is not worth what the model would no longer see. */
const LARGEST_REMAINDER = 0.9;

export interface CompactionRun extends Pick<Ladder, "signal" | "clock" | "timer" | "random"> {
  readonly door: SessionDoor;
  readonly source: StepSource;
  readonly ground: ContextGround;
  readonly strategy: CompactionStrategy;
  readonly trigger: CompactionTrigger;
}

export async function runCompaction(run: CompactionRun): Promise<void> {
  const { door, ground, strategy, trigger, clock } = run;
  if (trigger === "limit") {
    const counted = await countPrompt({ ...run, state: door.state, now: clock() });
    await inOrder(door);
    if (!door.state.machine.matches("compacting")) return;
    if (run.signal.aborted) return door.record(rejected(run, "cancelled"));
    if (counted !== undefined) door.record(counted);
    if (counted !== undefined && isRoom(run)) return door.record(rejected(run, "not-needed"));
  }
  const pruned = pruningNow(door.state, ground, clock(), "compaction");
  if (pruned !== undefined) door.record(pruned);
  if (pruned !== undefined && trigger === "limit" && isRoom(run)) {
    return door.record(rejected(run, "not-needed"));
  }
  const planning = compactionGround(door.state, ground, clock());
  const written = strategy.writer === undefined ? undefined : await fromModel(run, planning);
  if (strategy.writer !== undefined) await inOrder(door);
  // The session may have moved on: nobody waits for this one's end.
  if (!door.state.machine.matches("compacting")) return;
  if (run.signal.aborted) return door.record(rejected(run, "cancelled"));
  if (written !== undefined) return door.record(written);
  const rung = strategy.writer === undefined ? {} : { rung: "digest" as const };
  const end = compaction(door.state, strategy, tokensOf(run), planning, rung);
  door.record(inContextTokens(door.state, end, ground, clock()));
}

async function inOrder(door: SessionDoor): Promise<void> {
  const turn = door.order({ kind: "compaction" });
  if (turn !== undefined) await turn;
}

/**
 * The same end, told in what the next prompt is estimated at: the tokens of `session.context()`, before
 * and behind it, by the scale that a bill or a count has set before.
 */
export function inContextTokens(
  state: SessionState,
  { type, data }: CompactionEnd,
  ground: ContextGround,
  now: number,
): CompactionEnd {
  const beforeTokens = nextEstimate(state, ground, now).tokens;
  if (type === "context.compaction-rejected") return { type, data: { ...data, beforeTokens } };
  const own = data.beforeTokens;
  const scale = own > 0 && beforeTokens > 0 ? beforeTokens / own : 1;
  const scaled = { ...data, beforeTokens, ...(scale === 1 ? {} : { scale }) };
  const event = { seq: state.position + 1, at: now, type, data: scaled };
  const afterTokens = nextEstimate(
    {
      ...state,
      view: contextView.fold(state.view, event),
      compactions: compactions.fold(state.compactions, event),
    },
    ground,
    now,
  ).tokens;
  if (afterTokens <= beforeTokens * LARGEST_REMAINDER)
    return { type, data: { ...scaled, afterTokens } };
  const { strategy } = data;
  const why = "nothing-to-gain";
  return { type: "context.compaction-rejected", data: { strategy, why, beforeTokens } };
}

function tokensOf({ ground, clock }: CompactionRun): (state: SessionState) => number {
  return (state) => plainTokens(state, ground, clock());
}

/** Whether the prompt has come below its limit. */
function isRoom({ door, ground, clock }: CompactionRun): boolean {
  const choice = compactionChoice(ground.prepared.agent.context);
  if (choice === undefined) return false;
  const estimate = nextEstimate(door.state, ground, clock());
  return compactionDue(choice.when, estimate, undefined) !== "compact";
}

function rejected(
  { door: { state }, ground, strategy, clock }: CompactionRun,
  why: EventBody<"context.compaction-rejected">["data"]["why"],
): EventBody {
  const beforeTokens = nextEstimate(state, ground, clock()).tokens;
  return {
    type: "context.compaction-rejected",
    data: { strategy: strategy.name, why, beforeTokens },
  };
}

/** What a model wrote, as an event; undefined where it wrote nothing that is of use. */
async function fromModel(
  run: CompactionRun,
  planning: PlanningGround,
): Promise<EventBody | undefined> {
  const { door, ground, strategy, source, signal, clock, timer, random } = run;
  const { agent } = ground.prepared;
  let accepted: EventBody | undefined;
  await climbDown({
    door,
    source,
    agent,
    strategy,
    ground: planning,
    signal,
    clock,
    timer,
    random,
    room: (model) => {
      const { contextWindow, maxOutputTokens } = limitsNow(door.state, ground, clock(), model);
      if (contextWindow === undefined) return undefined;
      return contextWindow - Math.min(maxOutputTokens ?? 0, contextWindow / 2);
    },
    isSmall: ({ covers, summary, rung, model, usage }) => {
      const body = shorter(door.state, strategy, { covers, summary }, tokensOf(run), {
        rung,
        model,
        usage,
      });
      const end = body && inContextTokens(door.state, body, ground, clock());
      accepted = end?.type === "context.compacted" ? end : undefined;
      return accepted !== undefined;
    },
  });
  return accepted;
}

type Origin = Pick<EventBody<"context.compacted">["data"], "rung" | "model" | "usage">;

/** The plan as an event, if the prompt becomes at least a tenth smaller. */
function shorter(
  state: SessionState,
  { name }: CompactionStrategy,
  plan: CompactionPlan,
  tokensOf: (state: SessionState) => number,
  origin: Origin,
): EventBody<"context.compacted"> | undefined {
  const beforeTokens = tokensOf(state);
  const body: EventBody<"context.compacted"> = {
    type: "context.compacted",
    data: { strategy: name, ...plan, ...origin, beforeTokens, afterTokens: 0 },
  };
  const view = contextView.fold(state.view, { seq: state.position + 1, at: 0, ...body });
  const afterTokens = tokensOf({ ...state, view });
  if (afterTokens > beforeTokens * LARGEST_REMAINDER) return undefined;
  return { ...body, data: { ...body.data, afterTokens } };
}

/** How a compaction ends. */
export type CompactionEnd =
  | EventBody<"context.compacted">
  | EventBody<"context.compaction-rejected">;

/** What the strategy makes of this state without asking a model; `tokensOf` estimates the prompt of one. */
export function compaction(
  state: SessionState,
  strategy: CompactionStrategy,
  tokensOf: (state: SessionState) => number,
  planning?: PlanningGround,
  origin: Origin = {},
): CompactionEnd {
  const { name } = strategy;
  const beforeTokens = tokensOf(state);
  try {
    const plan = strategy.plan(state.history, state.view, planning);
    const body = plan && shorter(state, strategy, plan, tokensOf, origin);
    return (
      body ?? {
        type: "context.compaction-rejected",
        data: { strategy: name, why: "nothing-to-gain", beforeTokens },
      }
    );
  } catch (error) {
    return {
      type: "context.compaction-rejected",
      data: { strategy: name, why: "failed", error: toStoredError(error), beforeTokens },
    };
  }
}
