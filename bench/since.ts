/** `--since`: what this version costs, by what an older one costs in the same run. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Checkout } from "./checkout.ts";
import { measureCrowd } from "./crowd.ts";
import { shuffled } from "./numbers.ts";
import { ratioOf, type PairedRound, type Ratio } from "./pairs.ts";
import { interval, type Interval } from "./statistics.ts";

export interface Difference {
  readonly what: string;
  readonly before: number;
  readonly now: number;
  /** Now ÷ before; of the pairs, where there are several. */
  readonly ratio: Interval;
}

/** With figures of the older version under the name `then`. */
const compared: readonly (Ratio & { readonly what: string })[] = [
  ["CPU ms of a step", "light cpuMs"],
  ["the same on streamText", "heavy cpuMs"],
  ["ms until the model is called", "called ms"],
  ["the same, CPU", "called cpuMs"],
  ["ms until all is in memory", "ready ms"],
  ["the same, CPU", "ready cpuMs"],
  ["ms until the modules are loaded", "ready loadMs"],
  ["MB of memory at most", "light peakMegabytes"],
  ["bytes on disk", "light diskBytes"],
].map(([what = "", figure = ""]) => ({
  what,
  above: `turnlog ${figure}`,
  below: `then ${figure}`,
}));

/** Those whose pairs must be enough to see a small difference. */
export const sharpRatios: readonly Ratio[] = compared.slice(0, 2);

export function differences(rounds: readonly PairedRound[]): readonly Difference[] {
  const middle = (figure: string): number =>
    interval(rounds.map((round) => round[figure] ?? Number.NaN)).median;
  return compared.map(({ what, above, below }) => ({
    what,
    before: middle(below),
    now: middle(above),
    ratio: interval(ratioOf(rounds, { above, below })),
  }));
}

/** The JavaScript that is published, without the types. */
export async function sizes(now: Checkout, then: Checkout): Promise<Difference> {
  const [bytesNow, bytesThen] = await Promise.all([scriptBytes(now), scriptBytes(then)]);
  return only("kB of JavaScript in dist", bytesThen / 1000, bytesNow / 1000);
}

/** Each version's crowd runs on its own sources. */
export async function crowds(
  now: Checkout,
  then: Checkout,
  { pairs, sessions }: { readonly pairs: number; readonly sessions: number },
  onPair: (text: string) => void,
): Promise<readonly Difference[]> {
  const rounds: PairedRound[] = [];
  for (let pair = 1; pair <= pairs; pair++) {
    onPair(`crowds, pair ${pair} of ${pairs}`);
    const round: Record<string, number> = {};
    for (const [name, { folder }] of shuffled(
      [["now", now] as const, ["then", then] as const],
      Date.now(),
    )) {
      const { keptMegabytes, peakMegabytes, cpuMsPerStep, delayMs } = await measureCrowd(
        sessions,
        folder,
      );
      Object.assign(round, {
        [`${name} kept`]: keptMegabytes,
        [`${name} peak`]: peakMegabytes,
        [`${name} cpu`]: cpuMsPerStep,
        [`${name} p99`]: delayMs.p99,
      });
    }
    rounds.push(round);
  }
  return [
    ["MB that a crowd keeps at its end", "kept"],
    ["MB of a crowd at most", "peak"],
    ["CPU ms of a crowd's step", "cpu"],
    ["ms that the loop is late in a crowd, p99", "p99"],
  ].map(([what = "", figure = ""]) => {
    const middle = (name: string): number =>
      interval(rounds.map((round) => round[`${name} ${figure}`] ?? Number.NaN)).median;
    const pair = { above: `now ${figure}`, below: `then ${figure}` };
    return {
      what,
      before: middle("then"),
      now: middle("now"),
      ratio: interval(ratioOf(rounds, pair)),
    };
  });
}

function only(what: string, before: number, now: number): Difference {
  return { what, before, now, ratio: interval([now / before]) };
}

async function scriptBytes({ folder }: Checkout): Promise<number> {
  const dist = join(folder, "dist");
  const files = await readdir(dist, { recursive: true });
  const scripts = files.filter((file) => file.endsWith(".js") && !file.startsWith("studio"));
  const all = await Promise.all(scripts.map(async (file) => (await stat(join(dist, file))).size));
  return all.reduce((sum, size) => sum + size, 0);
}
