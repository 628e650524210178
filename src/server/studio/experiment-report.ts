/** An experiment as the studio shows it. */

import type { Comparison } from "../../compare/index.ts";
import { defined, TurnlogError } from "../../events/index.ts";
import type { Call } from "../route/route.ts";
import { known } from "./figures.ts";
import type { StudioRow } from "./listed-rows.ts";

type ReportedSession = Comparison["sessions"][number];

interface ExperimentReport extends Omit<Comparison, "sessions"> {
  /** Of a whole experiment, without their turns. */
  readonly sessions: readonly (Omit<ReportedSession, "turns"> & Partial<ReportedSession>)[];
  /** As rows of text. */
  readonly figures: readonly unknown[];
  readonly unread: number;
}

/** @throws TurnlogError `SESSION_NOT_FOUND` if no run of it can be read */
export async function experimentReport(
  rows: AsyncIterable<StudioRow>,
  { runtime: { log } }: Pick<Call, "runtime">,
  name: string,
  one: { readonly session?: string | undefined; readonly run?: number | undefined },
): Promise<ExperimentReport> {
  const { readExperiment, shownFigures } = await import("../../compare/index.ts");
  const { unread, ...found } = await readExperiment(log, name, rows, {
    known: await known(),
    ...defined(one),
  });
  if (found.sessions.length + unread === 0)
    throw new TurnlogError("SESSION_NOT_FOUND", `No run of the experiment ${name} is here.`);
  const isWhole = one.session === undefined;
  const sessions = found.sessions.map(({ turns, ...rest }) =>
    isWhole ? rest : { ...rest, turns },
  );
  return { ...found, sessions, figures: shownFigures(found), unread };
}
