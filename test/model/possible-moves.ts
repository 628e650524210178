/**
 * Which moves are possible in a situation: what the runtime owes at once, and, where it owes
 * nothing, what may happen to it. Pure.
 */

import type { RecoveryPolicy } from "../../src/events/index.ts";
import type { ToolKind } from "./conducted-tools.ts";
import type { Move } from "./moves.ts";
import { dueMessages, runningCalls, type Situation, type World } from "./situation.ts";

/** What may be thrown at a session: bounds keep the number of situations finite. */
export interface Bounds {
  readonly kinds: readonly ToolKind[];
  readonly callsInStep: number;
  readonly waitingMessages: number;
}

const unbounded: Bounds = {
  kinds: ["plain", "guarded", "asking", "slow", "missing"],
  callsInStep: Number.POSITIVE_INFINITY,
  waitingMessages: Number.POSITIVE_INFINITY,
};

/** Every move that may come, whoever is quicker: until a model has stopped that was told to, all may. */
export function toleratedMoves(situation: Situation, world: World): readonly Move[] {
  const moves = possibleMoves(situation, world);
  const { machine, settling } = situation;
  const stopping = machine.matches("streaming") && machine.context.stopping !== undefined;
  return stopping && !settling ? [...moves, ...freeMoves(situation, world, unbounded)] : moves;
}

/** Every move that comes next in the life of one process, when it is given its time. */
export function possibleMoves(
  situation: Situation,
  world: World,
  bounds: Bounds = unbounded,
): readonly Move[] {
  if (situation.cut) return [];
  const owed = owedMoves(situation, world);
  return owed.length > 0 ? owed : freeMoves(situation, world, bounds);
}

/** What comes next when a process dies here and another one opens the session; nothing where nothing was going on. */
export function movesAfterCrash(
  situation: Situation,
  ...policies: readonly RecoveryPolicy[]
): readonly Move[] {
  if (isAtRest(situation)) return [];
  return policies.map((policy) => ({ type: "session.recovered", policy }));
}

/** Nothing runs and nothing is about to: whoever opens the session finds it as it was. */
export function isAtRest({ machine }: Situation): boolean {
  const { calls, skipCalls } = machine.context;
  if (!machine.matches("tools")) {
    return machine.matches({ idle: "waiting" }) || machine.matches("closed");
  }
  return (
    !skipCalls &&
    Object.values(calls).every((call) => call === "ended" || call === "awaiting-approval")
  );
}

/** What the runtime does next by itself, whatever happens: one event, or one of several. */
export function owedMoves(situation: Situation, world: World): readonly Move[] {
  const { machine, settling, bulky, graceOver, started } = situation;
  const { stopping } = machine.context;
  if (machine.matches({ idle: "starting" })) return [{ type: "turn.started" }];
  if (machine.matches({ streaming: "boundary" })) {
    return [{ type: dueMessages(situation).length > 0 ? "message.delivered" : "step.started" }];
  }
  if (machine.matches({ streaming: "ending" })) return [{ type: "turn.ended" }];
  if (machine.matches("compacting")) {
    return settling || !bulky
      ? [{ type: "context.compaction-rejected" }]
      : [{ type: "context.compacted" }, { type: "context.compaction-rejected" }];
  }
  if (machine.matches("streaming")) {
    // A model that was told to stop is not waited for.
    return settling || stopping !== undefined ? [{ type: "step.interrupted" }] : [];
  }
  if (!machine.matches("tools")) return [];
  const running = runningCalls(situation);
  const settled = settling
    ? running
    : graceOver
      ? started.filter((id) => running.includes(id))
      : [];
  const [first] = settled;
  if (first !== undefined) return [{ type: "tool.unknown", callId: first }];
  const due = Object.keys(machine.context.calls).flatMap((id) => owedToCall(id, situation, world));
  return due.slice(0, 1);
}

/** What the tool runner does next about a call, unless it has to wait. */
function owedToCall(callId: string, situation: Situation, world: World): readonly Move[] {
  const { calls, skipCalls } = situation.machine.context;
  const kind = situation.kinds[callId];
  const room = runningCalls(situation).length < world.toolConcurrency;
  const start: readonly Move[] = room ? [{ type: "tool.started", callId }] : [];
  switch (calls[callId]) {
    case "waiting":
      if (kind === "missing") return [{ type: "tool.failed", callId }];
      if (skipCalls) return [{ type: "tool.skipped", callId }];
      if (kind === "asking") return [];
      return kind === "guarded" ? [{ type: "tool.approval-requested", callId }] : start;
    case "awaiting-approval":
      return skipCalls ? [{ type: "tool.skipped", callId }] : [];
    case "approved":
      return skipCalls ? [{ type: "tool.skipped", callId }] : start;
    case "refused":
      return [{ type: "tool.denied", callId }];
    default:
      return [];
  }
}

/** What users, the model and the tools may do to a session at rest or at work. */
function freeMoves(situation: Situation, world: World, bounds: Bounds): readonly Move[] {
  const { machine } = situation;
  const { queue, held, calls, stopping, attempt } = machine.context;
  const messages: readonly Move[] = [
    ...(queue.length < bounds.waitingMessages
      ? ([
          { type: "message.queued", delivery: "steer" },
          { type: "message.queued", delivery: "follow-up" },
        ] as const)
      : []),
    ...(queue.length > 0 ? ([{ type: "message.withdrawn" }] as const) : []),
  ];
  const cancel: readonly Move[] = stopping === undefined ? [{ type: "turn.cancel-requested" }] : [];
  if (machine.matches({ idle: "waiting" })) {
    return [
      ...messages,
      ...(held && queue.length > 0 ? ([{ type: "session.resumed" }] as const) : []),
      { type: "context.compaction-started" },
      { type: "session.closed" },
    ];
  }
  if (machine.matches({ streaming: "backingOff" })) {
    return [{ type: "step.started" }, ...messages, ...cancel];
  }
  if (machine.matches({ streaming: "calling" })) {
    const callsMore = Object.keys(calls).length < bounds.callsInStep;
    const mayRetry = !situation.spoken && attempt < world.maxAttempts;
    return [
      ...(callsMore ? bounds.kinds.map((kind) => ({ type: "part.tool-call", kind }) as const) : []),
      { type: "step.finished", finishReason: "stop" },
      { type: "step.finished", finishReason: "tool-calls" },
      { type: "step.finished", finishReason: "length" },
      { type: "step.finished", finishReason: "content-filter" },
      { type: "step.failed" },
      ...(mayRetry ? ([{ type: "step.retrying" }] as const) : []),
      ...messages,
      ...cancel,
    ];
  }
  if (!machine.matches("tools")) return [];
  return [
    ...Object.keys(calls).flatMap((callId) => freeToCall(callId, situation, world)),
    ...messages,
    ...cancel,
  ];
}

function freeToCall(callId: string, situation: Situation, world: World): readonly Move[] {
  const { calls, stopping } = situation.machine.context;
  const kind = situation.kinds[callId];
  const running = runningCalls(situation);
  switch (calls[callId]) {
    case "running": {
      // Told to stop, tools are left behind in the order in which they were started.
      const left =
        stopping === undefined
          ? kind === "slow"
          : situation.started.find((id) => running.includes(id)) === callId;
      return [
        { type: "tool.succeeded", callId },
        { type: "tool.failed", callId },
        ...(left ? ([{ type: "tool.unknown", callId }] as const) : []),
      ];
    }
    case "awaiting-approval":
      return [
        { type: "tool.approval-answered", callId, approved: true },
        { type: "tool.approval-answered", callId, approved: false },
      ];
    case "waiting":
      if (kind !== "asking") return [];
      return [
        { type: "tool.approval-requested", callId },
        { type: "tool.failed", callId },
        ...(running.length < world.toolConcurrency
          ? ([{ type: "tool.started", callId }] as const)
          : []),
      ];
    default:
      return [];
  }
}
