/**
 * Paths through the machine: to every situation by a shortest way, and from there by every move. Not by `xstate/graph`,
 * which keeps every situation that a move leads to, and takes three times as long.
 */

import { entriesOf, entryOf } from "../../src/events/index.ts";
import type { StructuralEvent } from "../../src/machines/index.ts";
import { leafOf, takenTransitions } from "./chart-coverage.ts";
import { eventOf, play, type Move } from "./moves.ts";
import { movesAfterCrash, possibleMoves, type Bounds } from "./possible-moves.ts";
import { beginning, type Situation, type World } from "./situation.ts";
import { isForeign, movesOfOthers } from "./unrecorded.ts";

export interface Path {
  /** The path without its last move; undefined if that is the first one. */
  readonly before: Path | undefined;
  readonly move: Move;
  /** The situation before the last move. */
  readonly last: Situation;
  readonly event: StructuralEvent;
  /** The transitions that the last move takes. */
  readonly taken: readonly string[];
}

/** A path by its moves: of each the path that ends with it. */
export function movesOf(path: Path): readonly Path[] {
  const moves = [path];
  for (let { before } = path; before !== undefined; { before } = before) moves.unshift(before);
  return moves;
}

export function pathsThrough(world: World, bounds: Bounds): readonly Path[] {
  const paths: Path[] = [];
  const known = new Set([essence(beginning)]);
  const reached: { readonly before?: Path; readonly situation: Situation }[] = [
    { situation: beginning },
  ];
  for (const { before, situation: last } of reached) {
    const moves = [
      ...possibleMoves(last, world, bounds),
      ...movesAfterCrash(last, "stop", "continue"),
      ...movesOfOthers(last),
    ];
    for (const move of moves) {
      const event = eventOf(move, last, world);
      const path = { before, move, last, event, taken: takenTransitions(last.machine, event) };
      paths.push(path);
      const next = play(last, move, world);
      const situation = isForeign(move, last) ? { ...next, cut: true } : next;
      const what = essence(situation);
      if (known.has(what)) continue;
      known.add(what);
      reached.push({ before: path, situation });
    }
  }
  return paths;
}

/** What tells two situations apart: not how often something was done before, or under which id. */
function essence(situation: Situation): string {
  const { machine, kinds, started, tried, always, told } = situation;
  const { settling, graceOver, bulky, cut, overflow } = situation;
  const { queue, later, held, calls, skipCalls, finishReason, stopping, attempt } = machine.context;
  const { lastStep } = machine.context;
  const { stepsInTurn, maxSteps, compactingFrom } = machine.context;
  const inTurn = !machine.matches("idle") && !machine.matches("closed");
  return JSON.stringify([
    machine.value,
    queue.map(({ delivery }) => delivery),
    later.length,
    held,
    bulky,
    cut,
    overflow,
    machine.matches("compacting") && [compactingFrom, machine.context.turn > 0],
    inTurn && [stepsInTurn === 0, stepsInTurn >= maxSteps, stopping, lastStep],
    machine.matches({ streaming: "ending" }) && finishReason,
    machine.matches("streaming") && attempt,
    entriesOf(calls).map(([id, call]) => [call, call === "ended" || kinds[id]]),
    started.filter((id) => entryOf(calls, id) === "running"),
    tried.filter((id) => entryOf(calls, id) !== "ended"),
    always,
    [skipCalls, settling, graceOver, told],
  ]);
}

/** What a path's last move is a case of: paths of the same kind differ in the way that leads there. */
export function kindOf({ move, last, taken }: Path): string {
  const { held, stopping, skipCalls, calls, lastStep } = last.machine.context;
  const broad = move.type === "session.recovered" || move.type === "turn.cancel-requested";
  const { type, ...rest } = move;
  const details = "callId" in rest ? { ...rest, callId: undefined } : rest;
  return JSON.stringify([
    leafOf(last.machine),
    type,
    details,
    [held, stopping, skipCalls, lastStep, last.settling],
    last.tried.some(
      (id) => entryOf(calls, id) !== "ended" && last.always[last.kinds[id] ?? ""] === true,
    ),
    broad
      ? entriesOf(calls)
          .map(([, call]) => call)
          .toSorted()
      : [],
    taken,
  ]);
}
