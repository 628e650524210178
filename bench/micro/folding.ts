/** What folding an event takes, for each projection and the machine: of deltas, and of all other events. */

import { openLog, type SessionEvent } from "../../src/public/index.ts";
import { initialMachineState, isStructural, machineFold } from "../../src/machines/index.ts";
import { foldSession, initialSessionState } from "../../src/state/index.ts";
import { inFolder } from "../folder.ts";
import { spread, type Spread } from "../statistics.ts";
import { runTurnlog, SESSION } from "../turnlog-session.ts";
import { createWorkload } from "../workload.ts";
import { sessionProjections, type Projection } from "../../src/projections/index.ts";

const STEPS = 50;
const ROUNDS = 15;

/** Microseconds an event. */
export interface Folding {
  readonly what: string;
  readonly delta: Spread;
  readonly other: Spread;
}

type Fold = (event: SessionEvent) => void;

/** Those that a session keeps, by the name of each. */
const kept: readonly (() => readonly [name: string, fold: Fold])[] = [
  ...Object.values(sessionProjections).map(folder),
  () => {
    let state = initialMachineState;
    return [
      "the machine (structural events only)",
      (event) => {
        if (isStructural(event)) state = machineFold(state, event).snapshot;
      },
    ];
  },
  () => {
    let state = initialSessionState;
    return [
      "all of them together",
      (event) => {
        ({ state } = foldSession(state, event));
      },
    ];
  },
];

function folder(projection: Projection<object>): () => readonly [name: string, fold: Fold] {
  return () => {
    let state = projection.initial;
    return [
      projection.name,
      (event) => {
        state = projection.fold(state, event);
      },
    ];
  };
}

export async function measureFolding(): Promise<readonly Folding[]> {
  const runs = runsOf(await sessionEvents());
  return kept.map((fresh) => {
    const rounds = Array.from({ length: ROUNDS }, () => foldOnce(runs, fresh));
    // The first ones compile it.
    const counted = rounds.slice(Math.floor(ROUNDS / 3));
    return {
      what: fresh()[0],
      delta: spread(counted.map(({ delta }) => delta)),
      other: spread(counted.map(({ other }) => other)),
    };
  });
}

async function sessionEvents(): Promise<readonly SessionEvent[]> {
  return await inFolder(async (dir) => {
    const variant = { stepSource: "language-model-call", durability: "os" } as const;
    await runTurnlog(createWorkload(STEPS), variant, dir);
    await using log = await openLog({ dir, durability: "os" });
    return await Array.fromAsync(log.read(SESSION));
  });
}

interface Run {
  readonly isDelta: boolean;
  readonly events: SessionEvent[];
}

/** Events that follow each other and are deltas, or are none: a clock is too slow for one event. */
function runsOf(events: readonly SessionEvent[]): readonly Run[] {
  const runs: Run[] = [];
  for (const event of events) {
    const isDelta = event.type.endsWith("-delta");
    const last = runs.at(-1);
    if (last?.isDelta === isDelta) last.events.push(event);
    else runs.push({ isDelta, events: [event] });
  }
  return runs;
}

function foldOnce(
  runs: readonly Run[],
  fresh: () => readonly [string, Fold],
): { readonly delta: number; readonly other: number } {
  const [, fold] = fresh();
  const taken = { delta: 0, other: 0 };
  const count = { delta: 0, other: 0 };
  for (const { isDelta, events } of runs) {
    const start = performance.now();
    for (const event of events) fold(event);
    const kind = isDelta ? "delta" : "other";
    taken[kind] += performance.now() - start;
    count[kind] += events.length;
  }
  return {
    delta: (taken.delta * 1000) / count.delta,
    other: (taken.other * 1000) / count.other,
  };
}
