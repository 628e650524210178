/** The cost and the window of a session at a position, by the catalogue of models, and the figures of an experiment. */

import { billOf, type BillOptions, type SessionBill } from "../../bill/index.ts";
import {
  callCost,
  shippedCatalogue,
  modelLimits,
  sessionCost,
  type ModelCatalogue,
  type SessionCost,
} from "../../context/index.ts";
import {
  isSameModel,
  type ModelName,
  type TokenUsage,
  TurnlogError,
  type EventLog,
  type SessionEvent,
  defined,
} from "../../events/index.ts";
import type { ListedSession, SessionState } from "../../state/index.ts";
import type { Comparison, ShownFigure } from "../../compare/index.ts";
import type { Call } from "../route/route.ts";
import type { StudioRow } from "./listed-rows.ts";

interface Figures {
  /** By the prices of the catalogue; an agent may know others. */
  readonly cost: SessionCost;
  /** The context window of the last step's model, in tokens; absent if it is not known. */
  readonly window?: number;
}

let loaded: Promise<{ readonly catalogue?: ModelCatalogue }> | undefined;

interface KnownCost {
  readonly model: ModelName;
  readonly time: number;
  readonly cost: number | undefined;
}

/** A cache of costs: the states of a session share the usage of their steps, and a price takes long to find. */
function withKnownCosts(catalogue: ModelCatalogue): ModelCatalogue {
  const known = new WeakMap<TokenUsage, KnownCost>();
  return {
    ...catalogue,
    cost: (model, usage, time) => {
      const before = known.get(usage);
      if (before?.time === time && isSameModel(before.model, model)) return before.cost;
      const cost = catalogue.cost(model, usage, time);
      known.set(usage, { model, time, cost });
      return cost;
    },
  };
}

export async function known(): Promise<{ readonly catalogue?: ModelCatalogue }> {
  loaded ??= shippedCatalogue().then(({ catalogue }) =>
    catalogue === undefined ? {} : { catalogue: withKnownCosts(catalogue) },
  );
  return await loaded;
}

/**
 * An estimate without its calls: all tokens of a listed session at the price of its last model; undefined if not
 * known. Sums by model would be no bill either: prices depend on the size and the hour of each call.
 */
export async function listedCost({
  model,
  total,
  updatedAt,
}: ListedSession): Promise<number | undefined> {
  const [, provider, modelId] = /^([^:]*):(.*)$/s.exec(model ?? "") ?? [];
  if (provider === undefined || modelId === undefined) return undefined;
  return callCost({ provider, modelId }, total, updatedAt, await known());
}

export async function figuresOf({ usage, learnedLimits }: SessionState): Promise<Figures> {
  const limits = { ...(await known()), learned: learnedLimits };
  const cost = sessionCost(usage, limits);
  const last = usage.steps.at(-1);
  const model = usage.running?.model ?? last?.model;
  if (model === undefined) return { cost };
  const { contextWindow } = modelLimits(model, last?.time ?? 0, limits);
  return contextWindow === undefined ? { cost } : { cost, window: contextWindow };
}

export async function billAt(
  log: EventLog,
  session: string,
  options: BillOptions,
): Promise<SessionBill> {
  return await billOf(log, session, await known(), options);
}

// The last turns of a long log, which the page shows while it loads the rest.

/** The most positions that are read for them. */
const MOST_TURN_POSITIONS = 4_000;

interface NewestTurns {
  /** The first position. All of the log if it is 1. */
  readonly from: number;
  readonly events: readonly SessionEvent[];
}

/** Whole turns whose messages can be folded without the events before them; none if the last turn is too long. */
export async function newestTurns(log: EventLog, session: string): Promise<NewestTurns> {
  const revision = await log.revision(session);
  const first = Math.max(1, revision - MOST_TURN_POSITIONS + 1);
  try {
    const read = await Array.fromAsync(log.read(session, { from: first, to: revision }));
    if (first === 1) return { from: 1, events: read };
    const events = wholeTurns(read);
    return { from: events[0]?.position ?? revision + 1, events };
  } catch (error) {
    // Loading the whole log tells what cannot be read.
    if (TurnlogError.isInstance(error)) return { from: revision + 1, events: [] };
    throw error;
  }
}

/** The events of the turns that are whole. Pure. */
export function wholeTurns(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const queued = new Set<string>();
  let start: number | undefined;
  for (const [index, { type, data }] of events.entries()) {
    if (type === "turn.ended") start ??= index + 1;
    else if (type === "message.queued" && start !== undefined) queued.add(data.id);
    const isOfBefore =
      // A branch may continue from a message that was not read, and a message may have waited since then.
      type === "session.rewound" ||
      (type === "message.delivered" && !data.ids.every((id) => queued.has(id)));
    if (!isOfBefore) continue;
    start = type === "session.rewound" ? index + 1 : undefined;
    queued.clear();
  }
  return start === undefined ? [] : events.slice(start);
}

// An experiment.

type ReportedSession = Comparison["sessions"][number];

export interface ExperimentReport extends Omit<Comparison, "sessions"> {
  readonly sessions: readonly (Omit<ReportedSession, "turns"> & {
    /** The session that has the run. */
    readonly kept: string;
    /** Absent where the whole experiment is asked for. */
    readonly turns?: ReportedSession["turns"];
  })[];
  readonly figures: readonly ShownFigure[];
  /** Runs that are left out, since they or their recordings cannot be read here. */
  readonly unread: number;
}

/** @throws TurnlogError `SESSION_NOT_FOUND` if no run of it can be read */
export async function experimentReport(
  rows: AsyncIterable<StudioRow>,
  { runtime: { log } }: Pick<Call, "runtime">,
  name: string,
  one: { readonly session?: string | undefined; readonly run?: number | undefined },
): Promise<ExperimentReport> {
  const { readExperiment, resultSession, shownFigures } = await import("../../compare/index.ts");
  const { unread, ...found } = await readExperiment(log, name, rows, {
    known: await known(),
    ...defined(one),
  });
  if (found.sessions.length + unread === 0)
    throw new TurnlogError("SESSION_NOT_FOUND", `No run of the experiment ${name} is here.`);
  const sessions = found.sessions.map(({ turns, ...rest }) => ({
    ...rest,
    kept: resultSession({ experiment: name, of: rest.session, run: rest.run }),
    ...(one.session === undefined ? {} : { turns }),
  }));
  return { ...found, sessions, figures: shownFigures(found), unread };
}
