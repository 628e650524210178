/** The main ratios of releases, kept in `bench/history.json` and drawn into `docs/history.svg`. */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { mainRatios } from "./bars.ts";
import { chart } from "./comparison/chart.ts";
import type { Checkout } from "./checkout.ts";
import { machineName } from "./machine.ts";
import { ratioOf, type PairedRound } from "./pairs.ts";
import { interval } from "./statistics.ts";

const FIGURES = fileURLToPath(new URL("history.json", import.meta.url));
const DRAWING = fileURLToPath(new URL("../docs/history.svg", import.meta.url));

const ratioSchema = z.object({ median: z.number(), low: z.number(), high: z.number() });
const entrySchema = z.object({
  commit: z.string(),
  /** Of the commit, as YYYY-MM-DD. */
  day: z.string(),
  machine: z.string(),
  pairs: z.int(),
  ratios: z.record(z.string(), ratioSchema),
});
type HistoryEntry = z.infer<typeof entrySchema>;
export const historySchema: z.ZodType<HistoryEntry[]> = z.array(entrySchema);

/** Puts both versions of a run, where there are two, in the place of what was known of these commits. @returns the files */
export async function keepFigures(
  rounds: readonly PairedRound[],
  { now, older }: { readonly now: Checkout; readonly older: Checkout | undefined },
): Promise<readonly string[]> {
  const taken = [
    ...(older === undefined ? [] : [entryOf("then", older, rounds)]),
    entryOf("turnlog", now, rounds),
  ];
  const known = historySchema.parse(JSON.parse(await readFile(FIGURES, "utf8")));
  const others = known.filter(({ commit }) => taken.every((entry) => entry.commit !== commit));
  const all = [...others, ...taken].toSorted((one, other) => one.day.localeCompare(other.day));
  await writeFile(FIGURES, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(DRAWING, historyChart(all));
  return [FIGURES, DRAWING];
}

function entryOf(
  name: string,
  { commit, day }: Checkout,
  rounds: readonly PairedRound[],
): HistoryEntry {
  const ratios = mainRatios.map(({ what, above, below }) => {
    const own = above.replace(/^turnlog /, `${name} `);
    return [what, interval(ratioOf(rounds, { above: own, below }))] as const;
  });
  return {
    commit,
    day,
    machine: machineName(),
    pairs: rounds.length,
    ratios: Object.fromEntries(ratios),
  };
}

export function historyChart(entries: readonly HistoryEntry[]): string {
  const panels = mainRatios.map(({ what, limit }) => ({
    title: `${what} (bar: ${limit})`,
    bars: entries.flatMap(({ commit, day, ratios: { [what]: ratio } }) =>
      ratio === undefined
        ? []
        : [
            {
              label: `${day}, ${commit}`,
              value: ratio.median,
              text: ratio.median.toFixed(2),
              isOurs: true,
            },
          ],
    ),
  }));
  return chart(
    panels,
    "Medians of pairs in fresh processes; bench/history.json has intervals and machines.",
  );
}
