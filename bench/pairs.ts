/**
 * Rounds of jobs that each take one figure, in a fresh process each and in another order each round, until
 * the ratios that matter are known well enough. What the machine does meanwhile, it does to all of them.
 */

import { shuffled } from "./numbers.ts";
import { interval, precision } from "./statistics.ts";

/** One figure or several, by their names. */
export type Figures = Readonly<Record<string, number>>;

export interface PairedJob {
  readonly name: string;
  readonly take: () => Promise<Figures>;
}

/** Each job's figures in one round, as `<job> <figure>`. */
export type PairedRound = Figures;

export interface Stopping {
  /** Rounds at least, whatever the figures are. */
  readonly least: number;
  /** Rounds at most, and milliseconds after which no other begins. */
  readonly most: number;
  readonly forMs?: number;
  /** Half the width of each ratio's interval that is good enough, as a share of the ratio. */
  readonly within: number;
}

/** A figure ÷ another of the same round. */
export interface Ratio {
  readonly above: string;
  readonly below: string;
}

export function ratioOf(
  rounds: readonly PairedRound[],
  { above, below }: Ratio,
): readonly number[] {
  return rounds.map((round) => (round[above] ?? Number.NaN) / (round[below] ?? Number.NaN));
}

export async function pairedRounds(
  jobs: readonly PairedJob[],
  ratios: readonly Ratio[],
  { least, most, forMs = Infinity, within }: Stopping,
  onRound: (text: string) => void,
): Promise<readonly PairedRound[]> {
  const start = performance.now();
  const rounds: PairedRound[] = [];
  const isKnown = (): boolean =>
    ratios.every((ratio) => precision(interval(ratioOf(rounds, ratio))) <= within);
  while (rounds.length < most) {
    if (rounds.length >= least && (isKnown() || performance.now() - start > forMs)) break;
    onRound(`round ${rounds.length + 1}, of ${least} to ${most}`);
    const round: Record<string, number> = {};
    for (const { name, take } of shuffled(jobs, Date.now())) {
      for (const [figure, value] of Object.entries(await take()))
        round[`${name} ${figure}`] = value;
    }
    rounds.push(round);
  }
  return rounds;
}
