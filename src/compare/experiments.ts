/**
 * Experiments from a store alone: the runs that `compare` kept there, beside their recordings in the same store, as
 * the report says them.
 */

import type { KnownLimits } from "../context/index.ts";
import type { EventLog, JsonObject } from "../events/index.ts";
import { checkedRecording } from "../replay/index.ts";
import { failed, orRefused } from "./compare.ts";
import { laneOf } from "./lane.ts";
import { report, type ComparedSession, type Comparison } from "./report.ts";
import { resultOf, resultSession, sideBySide } from "./results.ts";

/** What a list of sessions tells of each. */
interface Row {
  readonly session: string;
  readonly updatedAt: number;
  readonly metadata?: JsonObject;
}

export interface StoredExperiment {
  readonly experiment: string;
  readonly sessions: number;
  readonly runs: number;
  /** Of its newest run. */
  readonly updatedAt: number;
}

interface StoredRun {
  readonly experiment: string;
  readonly of: string;
  readonly run: number;
  readonly session: string;
  readonly updatedAt: number;
}

/** By the newest run. */
export async function experimentsIn(
  rows: AsyncIterable<Row>,
): Promise<readonly StoredExperiment[]> {
  const runs = (await Array.fromAsync(rows)).flatMap((row) => runOf(row) ?? []);
  return [...Map.groupBy(runs, ({ experiment }) => experiment)]
    .map(([experiment, own]) => ({
      experiment,
      sessions: new Set(own.map(({ of }) => of)).size,
      runs: own.length,
      updatedAt: Math.max(...own.map(({ updatedAt }) => updatedAt)),
    }))
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
}

/** Reads the run from a session's metadata. A fork copies the metadata but is not a run. */
function runOf({ session, updatedAt, metadata = {} }: Row): StoredRun | undefined {
  const { experiment, of, run: count } = metadata;
  if (typeof experiment !== "string" || typeof of !== "string") return undefined;
  const run = Number(count);
  if (session !== resultSession({ experiment, of, run })) return undefined;
  return { experiment, of, run, session, updatedAt };
}

/**
 * The report on the runs of an experiment.
 * @param rows - The sessions that may be read, runs and recordings.
 * @returns With `unread`: runs that are left out, since they or their recordings cannot be read here.
 */
export async function readExperiment(
  log: EventLog,
  name: string,
  rows: AsyncIterable<Row>,
  {
    known,
    ...only
  }: { readonly known: KnownLimits; readonly session?: string; readonly run?: number },
): Promise<Comparison & { readonly unread: number }> {
  const listed = await Array.fromAsync(rows);
  const ids = new Set(listed.map(({ session }) => session));
  const runs = listed
    .flatMap((row) => runOf(row) ?? [])
    .filter(
      ({ experiment, of, run }) =>
        experiment === name && of === (only.session ?? of) && run === (only.run ?? run),
    )
    .toSorted(
      (one, other) =>
        one.of.localeCompare(other.of, "en", { numeric: true }) || one.run - other.run,
    );
  const found: ComparedSession[] = [];
  for (const one of runs) {
    if (!ids.has(one.of)) continue;
    found.push(
      await orRefused(
        () => readRun(log, one, known),
        (why) => failed(one.of, one.run, why),
      ),
    );
  }
  const model = found.find(({ candidate }) => candidate.agent)?.candidate.agent?.model;
  const candidate = model === undefined ? "" : `${model.provider}:${model.modelId}`;
  return { ...report(name, candidate, found), unread: runs.length - found.length };
}

async function readRun(
  log: EventLog,
  { of, run, session }: StoredRun,
  known: KnownLimits,
): Promise<ComparedSession> {
  const result = resultOf(await Array.fromAsync(log.read(session)));
  if (result === undefined) return failed(of, run, `What came of it cannot be read in ${session}.`);
  const { at, allow } = result.about;
  const events = await Array.fromAsync(log.read(of, { to: at }));
  checkedRecording(events);
  checkedRecording(result.events);
  const [recorded, candidate] = [laneOf(of, events, known), laneOf(session, result.events, known)];
  return {
    session: of,
    run,
    ...sideBySide(recorded, candidate, result, { allow }),
    replay: { skipped: "It was read from the store." },
  };
}
