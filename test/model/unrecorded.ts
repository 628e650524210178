/**
 * What the chart has and the walks do not record with this runtime: the events that only another release can have
 * written (the paths write them into a dead process's log and recover from there), and those that an
 * inner state hears only because all of the states around it do. Each with its reason.
 */

import { leafOf } from "./chart-coverage.ts";
import type { Move } from "./moves.ts";
import type { Situation } from "./situation.ts";

const compactsAtLimit = "a limit is reached by long sessions: they are tested by themselves";
const atOnce = "the runtime leaves this state before anybody can say anything";

const parsesAtOnce =
  "the outputs of the walks are parsed at once: structured-output.test.ts has others";

/** Walked by a crash, an event written by hand, and a recovery. */
export const foreignEvents: Readonly<Record<string, string>> = {
  "streaming.boundary context.compaction-started": compactsAtLimit,
  "streaming.boundary turn.cancel-requested": atOnce,
  "streaming.boundary turn.limit-reached":
    "a turn's time is up while something runs; that it goes in circles is tested by itself",
  "streaming.ending turn.cancel-requested": parsesAtOnce,
  "streaming.ending turn.limit-reached": parsesAtOnce,
  "streaming.backingOff step.failed": "a back-off ends in the next attempt or is interrupted",
  "compacting turn.cancel-requested": "a compaction without a model is over at once",
  "compacting turn.limit-reached": "a compaction without a model is over at once",
};

const compactsWithoutModel =
  "a compaction without a model is over before a walk's next move; what comes between all the same is tested in compacting.test.ts";
const deliversAtBoundary = "messages are delivered only where a step begins";
const noLimits = "the walks have no limits of spending: spending.test.ts has some";
const endsWhereItEnds = "a turn is ended only when nothing of it runs";

/** Walked nowhere: the chart says these for a whole group of states, and means others of the group. */
export const unheardEvents: Readonly<Record<string, string>> = {
  "idle.waiting message.delivered": deliversAtBoundary,
  "idle.waiting turn.started": "a turn is started only when one is due",
  "idle.waiting session.recovered": "there is nothing to recover",
  "idle.starting message.queued": atOnce,
  "idle.starting message.delivered": deliversAtBoundary,
  "idle.starting message.withdrawn": atOnce,
  "idle.starting message.rescheduled": atOnce,
  "idle.starting context.compaction-started": atOnce,
  "idle.starting session.resumed": atOnce,
  "idle.starting session.closed": atOnce,
  "streaming.boundary message.queued": atOnce,
  "streaming.boundary message.withdrawn": atOnce,
  "streaming.boundary message.rescheduled": atOnce,
  "streaming.boundary turn.ended": endsWhereItEnds,
  "streaming.boundary turn.held": noLimits,
  "streaming.held message.queued": noLimits,
  "streaming.held message.delivered": noLimits,
  "streaming.held message.withdrawn": noLimits,
  "streaming.held message.rescheduled": noLimits,
  "streaming.held turn.allowed": noLimits,
  "streaming.held turn.cancel-requested": noLimits,
  "streaming.held turn.ended": noLimits,
  "streaming.calling message.delivered": deliversAtBoundary,
  "streaming.calling turn.ended": endsWhereItEnds,
  "streaming.backingOff message.delivered": deliversAtBoundary,
  "streaming.backingOff turn.ended": endsWhereItEnds,
  "streaming.overflowed message.queued": atOnce,
  "streaming.overflowed message.delivered": deliversAtBoundary,
  "streaming.overflowed message.withdrawn": atOnce,
  "streaming.overflowed message.rescheduled": atOnce,
  "streaming.overflowed turn.ended": endsWhereItEnds,
  "streaming.ending message.queued": atOnce,
  "streaming.ending message.delivered": deliversAtBoundary,
  "streaming.ending message.withdrawn": atOnce,
  "streaming.ending message.rescheduled": atOnce,
  "tools message.delivered": deliversAtBoundary,
  "compacting message.queued": compactsWithoutModel,
  "compacting message.delivered": deliversAtBoundary,
  "compacting message.withdrawn": compactsWithoutModel,
  "compacting message.rescheduled": compactsWithoutModel,
};

/** Taken nowhere on the paths. */
export const untakenTransitions: Readonly<Record<string, string>> = {
  "streaming.boundary turn.held": noLimits,
  "streaming.held turn.allowed": noLimits,
  "streaming.held turn.cancel-requested": noLimits,
  "streaming.stepped at once [awaitsResults]":
    "a provider answers its own calls by itself: deferred-results.test.ts kills the process at every event",
};

const foreignMoves = [
  { type: "context.compaction-started" },
  { type: "turn.cancel-requested", mode: "now" },
  { type: "turn.limit-reached" },
  { type: "step.failed" },
] as const satisfies readonly Move[];

export function isForeign(move: Move, { machine }: Situation): boolean {
  // A cancel and a limit name their turn: there must have been one.
  const namesTurn = move.type === "turn.cancel-requested" || move.type === "turn.limit-reached";
  if (namesTurn && machine.context.turn === 0) return false;
  return Object.hasOwn(foreignEvents, `${leafOf(machine)} ${move.type}`);
}

/** The moves that another release may have made here. */
export function movesOfOthers(situation: Situation): readonly Move[] {
  return situation.cut ? [] : foreignMoves.filter((move) => isForeign(move, situation));
}
