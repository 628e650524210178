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
import type { Miss, Stopped } from "./report.ts";

export interface StoredResult {
  readonly events: readonly SessionEvent[];
  readonly misses: readonly Miss[];
  readonly stopped?: Omit<Stopped, "of">;
}

/** Identifies a run: its experiment, its recording and how many events that had, and its agent. */
export interface ResultOf {
  readonly experiment: string;
  readonly of: string;
  readonly run: number;
  readonly at: number;
  readonly agent: string;
}

const TYPE = "app.compare.result";

const schema = z.object({
  about: z.object({
    experiment: z.string(),
    of: z.string(),
    run: z.int(),
    at: z.int(),
    agent: z.string(),
  }),
  misses: z.array(
    z.object({
      step: z.int(),
      toolName: z.string(),
      input: jsonSchema,
      policy: z.enum(["stop", "live", "simulate", "function"]),
    }),
  ),
  stopped: z
    .object({ at: z.enum(["miss", "budget", "failure"]), step: z.int(), why: z.string() })
    .exactOptional(),
});

/** Whether a run can be kept: a runtime would continue a session that stopped within a turn. */
export function isAtRest(events: readonly SessionEvent[]): boolean {
  const last = events.findLast(({ type }) => type === "turn.started" || type === "turn.ended");
  return events.length > 0 && last?.type !== "turn.started";
}

export function asResult({ events, ...rest }: StoredResult, about: ResultOf): readonly NewEvent[] {
  const metadata = { experiment: about.experiment, of: about.of, run: String(about.run) };
  const named = events.map(({ position: _, ...event }): NewEvent =>
    event.type === "session.created"
      ? { ...event, data: { ...event.data, metadata: { ...event.data.metadata, ...metadata } } }
      : event,
  );
  const data = { about: { ...about }, ...rest };
  // What zod reads back.
  const json = schema.parse(data);
  const time = events.at(-1)?.time ?? 0;
  // A runtime must not continue it: its model and tools would be real there.
  return [
    ...named,
    { type: TYPE, time, data: json },
    { type: "session.closed", time, data: { reason: "A run of a comparison is kept as it was." } },
  ];
}

/** The run, if the store has it. @throws TurnlogError `INVALID_INPUT` if it is of another agent or recording */
export async function resultIn(
  results: EventLog,
  name: string,
  about: ResultOf,
): Promise<StoredResult | undefined> {
  if ((await results.revision(name)) === 0) return undefined;
  const events = await Array.fromAsync(results.read(name));
  const last = events.findLast(({ type }) => type === TYPE);
  const found = last && schema.parse(last.data);
  const { agent, at, of } = found?.about ?? {};
  if (found === undefined || agent !== about.agent || at !== about.at || of !== about.of)
    throw new TurnlogError(
      "INVALID_INPUT",
      `The results have session ${name} already, of another agent or recording. Give the experiment another name.`,
      { session: name },
    );
  return { ...found, events: events.slice(0, last && last.position - 1) };
}
