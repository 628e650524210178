/** An experiment as the studio shows it. */

import type { Comparison, ShownFigure } from "../../compare/index.ts";
import { defined, TurnlogError } from "../../events/index.ts";
import type { Call } from "../route/route.ts";
import { known } from "./figures.ts";
import type { StudioRow } from "./listed-rows.ts";

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
