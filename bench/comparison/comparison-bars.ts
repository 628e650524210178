/** What was promised of turnlog beside the others, and whether it holds: ratios of one round, where they can be. */

import { bar, type Bar } from "../bars.ts";
import { KILLED_IN } from "./killing.ts";
import type { Comparison, MeasuredSession, Result } from "./measured.ts";

/** Deltas that had been streamed at the kill, of all steps. */
export const STREAMED: number = KILLED_IN.step * 200 + KILLED_IN.delta;

export function checkBars(comparison: Comparison): readonly Bar[] {
  const longest = comparison.sizes.at(-1);
  const sessions = (id: string): readonly MeasuredSession[] =>
    comparison.results.find((result) => result.id === id)?.sessions[longest?.steps ?? 0] ?? [];
  const own = comparison.results.find((result) => result.id === "turnlog");
  if (own === undefined || longest === undefined) return [];
  const ofContent = (of: (session: MeasuredSession) => number | undefined): readonly number[] =>
    sessions("turnlog").flatMap((session) => {
      const bytes = of(session);
      return bytes === undefined ? [] : [bytes / longest.contentBytes];
    });
  const peers = comparison.results.filter(({ role }) => role === "peer");
  const disk = ratios(sessions("turnlog"), smallest(peers, longest.steps), "diskBytes");
  return [
    atMost("CPU ÷ the bare loop's", ratios(sessions("turnlog"), sessions("loop"), "cpuMs"), 0.5),
    atMost(
      "CPU on streamText ÷ the bare loop's",
      ratios(sessions("turnlog-st"), sessions("loop"), "cpuMs"),
      1.12,
    ),
    atMost(
      "CPU of the last ten steps ÷ of the first ten",
      sessions("turnlog").map(({ stepCpuMs }) => stepCpuMs.last / stepCpuMs.first),
      1.1,
    ),
    ...peers.map(({ id, label }) =>
      atLeast(`CPU of ${label} ÷ ours`, ratios(sessions(id), sessions("turnlog"), "cpuMs"), 4),
    ),
    atMost(
      "bytes on disk ÷ content",
      ofContent((session) => session.diskBytes),
      2,
    ),
    atMost("bytes on disk ÷ those of the smallest peer", disk, 1),
    atMost(
      "bytes written ÷ content",
      ofContent((session) => session.writtenBytes),
      3,
    ),
    atMost(
      "ms until all that is kept is in memory",
      own.ready.map(({ ms }) => ms),
      20,
    ),
    ...peers.map(({ label, ready }) =>
      atMost(`the same ÷ that of ${label}`, ratios(own.ready, ready, "ms"), 1),
    ),
    atLeast("deltas there after SIGKILL at one each ms, % of those streamed", shareKept(own), 99),
  ].filter((bar) => bar !== undefined);
}

/** In percent, where a delta came each millisecond. */
export function shareKept({ kept }: Result): readonly number[] {
  return kept.steady.map(({ before, inStep }) => ((before + inStep) / STREAMED) * 100);
}

function smallest(peers: readonly Result[], steps: number): readonly MeasuredSession[] {
  const least = (sessions: readonly MeasuredSession[] = []): number =>
    Math.min(...sessions.map(({ diskBytes }) => diskBytes));
  const sorted = peers.toSorted((a, b) => least(a.sessions[steps]) - least(b.sessions[steps]));
  return sorted[0]?.sessions[steps] ?? [];
}

/** Round by round; a round in which one of them failed has none. */
function ratios<Key extends string>(
  above: readonly Readonly<Record<Key, number>>[],
  below: readonly Readonly<Record<Key, number>>[],
  key: Key,
): readonly number[] {
  return above.flatMap((one, round) => {
    const other = below[round];
    return other === undefined ? [] : [one[key] / other[key]];
  });
}

function atMost(what: string, values: readonly number[], limit: number): Bar | undefined {
  return values.length === 0 ? undefined : bar(what, values, "at most", limit);
}

function atLeast(what: string, values: readonly number[], limit: number): Bar | undefined {
  return values.length === 0 ? undefined : bar(what, values, "at least", limit);
}
