/**
 * A run of a comparison as a session of a store: the candidate's events, with metadata that name the experiment, and
 * behind them what the log alone does not tell. Pure, but for the reading.
 */

import { z } from "zod";
import {
  TurnlogError,
  jsonSchema,
  type EventLog,
  type NewEvent,
  type SessionEvent,
} from "../events/index.ts";
import type { Lane } from "./lane.ts";
import { allowances, pair, type PairAllowed, type PairOptions } from "./pairing.ts";
import type { ComparedSession, Miss, Stopped } from "./report.ts";

export interface StoredResult {
  readonly events: readonly SessionEvent[];
  readonly misses: readonly Miss[];
  readonly scores: ComparedSession["scores"];
  readonly stopped?: Omit<Stopped, "of">;
}

/** A run that was made now. `ending`: of the turn in which it stopped. */
export interface MadeResult extends StoredResult {
  readonly ending: readonly SessionEvent[];
}

/** Identifies a run: its experiment, its recording and how many events that had, and its agent. */
export interface ResultOf {
  readonly experiment: string;
  readonly of: string;
  readonly run: number;
  readonly at: number;
  readonly agent: string;
  /** What a miss comes to. */
  readonly onMiss: string;
  /** What may differ. */
  readonly allow: readonly PairAllowed[];
}

const TYPE = "app.compare.result";

const schema = z.object({
  about: z.object({
    experiment: z.string(),
    of: z.string(),
    run: z.int(),
    at: z.int(),
    agent: z.string(),
    onMiss: z.string(),
    allow: z.array(z.enum(allowances)),
  }),
  misses: z.array(
    z.object({
      step: z.int(),
      toolName: z.string(),
      input: jsonSchema,
      policy: z.enum(["stop", "live", "simulate", "function"]),
    }),
  ),
  scores: z.record(z.string(), z.object({ recorded: z.number(), candidate: z.number() })),
  stopped: z
    .object({ at: z.enum(["miss", "budget", "failure"]), step: z.int(), why: z.string() })
    .exactOptional(),
});

export function asResult(
  { events, ending, ...rest }: MadeResult,
  about: ResultOf,
): readonly NewEvent[] {
  const metadata = { experiment: about.experiment, of: about.of, run: String(about.run) };
  const named = events.map(({ position: _, ...event }): NewEvent =>
    event.type === "session.created"
      ? { ...event, data: { ...event.data, metadata: { ...event.data.metadata, ...metadata } } }
      : event,
  );
  const data = { about, ...rest };
  // What zod reads back.
  const json = schema.parse(data);
  const time = events.at(-1)?.time ?? 0;
  // A runtime must not continue it: its model and tools would be real there.
  return [
    ...named,
    { type: TYPE, time, data: json },
    ...ending.map(({ position: _, ...event }): NewEvent => event),
    { type: "session.closed", time, data: { reason: "A run of a comparison is kept as it was." } },
  ];
}

/** The session that has a run. */
export function resultSession({
  experiment,
  of,
  run,
}: Pick<ResultOf, "experiment" | "of" | "run">): string {
  return `${asId(experiment)}/${asId(of)}/${run}`;
}

/** A name in which only characters of session ids are left. */
function asId(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/gu, "-");
}

/** The run of a session, whatever was recorded behind it; undefined if the session has none. */
export function resultOf(
  events: readonly SessionEvent[],
): (StoredResult & { readonly about: ResultOf }) | undefined {
  const index = events.findLastIndex(({ type }) => type === TYPE);
  const { success, data } = schema.safeParse(events[index]?.data);
  return success ? { ...data, events: events.slice(0, index) } : undefined;
}

/** The run, if the store has it. @throws TurnlogError `INVALID_INPUT` if it is of another agent or recording */
export async function resultIn(
  results: EventLog,
  name: string,
  about: ResultOf,
): Promise<StoredResult | undefined> {
  if ((await results.revision(name)) === 0) return undefined;
  const found = resultOf(await Array.fromAsync(results.read(name)));
  const { agent, at, of, onMiss } = found?.about ?? {};
  const isSame =
    agent === about.agent && at === about.at && of === about.of && onMiss === about.onMiss;
  if (found === undefined || !isSame)
    throw new TurnlogError(
      "INVALID_INPUT",
      `The results have session ${name} already, of another agent, recording or policy. Give the experiment another name.`,
      { session: name },
    );
  return found;
}

/** What a run did besides what was recorded. */
export function sideBySide(
  recorded: Lane,
  candidate: Lane,
  { misses, scores, stopped }: StoredResult,
  options: PairOptions,
): Omit<ComparedSession, "session" | "run" | "replay"> {
  return {
    recorded,
    candidate,
    pair: pair(recorded, candidate, options),
    misses,
    scores,
    ...(stopped && { stopped: { ...stopped, of: recorded.steps.length } }),
  };
}
