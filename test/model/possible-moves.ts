/**
 * Which moves are possible in a situation: what the runtime owes at once, and, where it owes
 * nothing, what may happen to it. Pure.
 */

import { entriesOf, entryOf, type RecoveryPolicy } from "../../src/events/index.ts";
import type { ToolKind } from "./conducted-tools.ts";
import type { Move } from "./moves.ts";
import {
  callsAtWork,
  callsToSettle,
  dueMessages,
  type Situation,
  type World,
} from "./situation.ts";

/** What may be thrown at a session: bounds keep the number of situations finite. */
export interface Bounds {
  readonly kinds: readonly ToolKind[];
  readonly callsInStep: number;
  readonly waitingMessages: number;
  readonly laterMessages: number;
  /** People answer for good, too. */
  readonly always: boolean;
}

const unbounded: Bounds = {
  kinds: [
    "plain",
    "guarded",
    "asking",
    "slow",
    "missing",
    "remote",
    "searching",
    "repeatable",
    "doubtful",
  ],
  callsInStep: Number.POSITIVE_INFINITY,
  waitingMessages: Number.POSITIVE_INFINITY,
  // Those come beside all other moves.
  laterMessages: 0,
  always: true,
};

/** Every move that may come, in any order: until a model has stopped, all may. */
export function toleratedMoves(situation: Situation, world: World): readonly Move[] {
  const moves = possibleMoves(situation, world);
  const { machine, settling, told } = situation;
  const stopping = machine.matches("streaming") && told && !settling;
  if (isThinking(situation, world))
    return [
      ...moves,
      { type: "step.started" },
      ...messageMoves(situation),
      ...stopMoves(situation, true),
    ];
  return stopping ? [...moves, ...freeMoves(situation, world, unbounded)] : moves;
}

/** A function of the user's is asked, and others may be quicker. */
function isThinking({ machine }: Situation, { prepares, output }: World): boolean {
  return (
    (prepares && machine.matches({ streaming: "boundary" })) ||
    (output && machine.matches({ streaming: "ending" }))
  );
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

/** Nothing runs and nothing is about to: opening the session changes nothing. */
export function isAtRest(situation: Situation): boolean {
  const { machine } = situation;
  const { calls, skipCalls, stopping } = machine.context;
  if (!machine.matches("tools")) {
    return machine.matches({ idle: "waiting" }) || machine.matches("closed");
  }
  return (
    !skipCalls &&
    stopping === undefined &&
    entriesOf(calls).every(
      ([id, call]) =>
        call === "ended" ||
        call === "awaiting-output" ||
        (call === "awaiting-approval" && isForPerson(situation, id)),
    )
  );
}

/** An answer for good holds for a call that waits, but not for one that a dead process had started. */
function isForPerson({ kinds, always, tried }: Situation, callId: string): boolean {
  return tried.includes(callId) || always[kinds[callId] ?? ""] === undefined;
}

/** What the runtime does next by itself, whatever happens: one event, or one of several. */
export function owedMoves(situation: Situation, world: World): readonly Move[] {
  const { machine, settling, bulky, told } = situation;
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
  if (machine.matches({ streaming: "overflowed" })) return owedAfterOverflow(situation);
  if (machine.matches("streaming")) {
    // A model that was told to stop is not waited for.
    if (settling || told) return [{ type: "step.interrupted" }];
    return machine.matches({ streaming: "calling" }) ? owedToRetry(situation) : [];
  }
  return machine.matches("tools") ? owedToCalls(situation, world) : [];
}

/** A prompt that was too long is compacted once and sent once more; or the step is over. */
function owedAfterOverflow({ machine, overflow, settling }: Situation): readonly Move[] {
  if (settling || overflow === "recovered" || machine.context.stopping !== undefined) {
    return [{ type: "step.interrupted" }];
  }
  if (overflow === "compacted") return [{ type: "step.started" }];
  return [{ type: overflow === "refused" ? "context.compaction-started" : "step.failed" }];
}

/** Once one call of an attempt was given up, so are the others, and the attempt is made again. */
function owedToRetry({ machine }: Situation): readonly Move[] {
  const calls = entriesOf(machine.context.calls);
  if (!calls.some(([, call]) => call === "ended")) return [];
  const next = calls.find(([, call]) => call !== "ended");
  if (next === undefined) return [{ type: "step.retrying" }];
  return [{ type: "tool.skipped", callId: next[0] }];
}

function owedToCalls(situation: Situation, world: World): readonly Move[] {
  const { machine, settling, graceOver, started, kinds } = situation;
  const { calls, skipCalls } = machine.context;
  if (settling) {
    const [callId] = callsToSettle(situation);
    if (callId === undefined) return [];
    const asks = kinds[callId] === "doubtful" && !skipCalls;
    return [{ type: asks ? "tool.approval-requested" : "tool.unknown", callId }];
  }
  const atWork = callsAtWork(situation);
  const left = graceOver ? started.find((id) => atWork.includes(id)) : undefined;
  if (left !== undefined) return [{ type: "tool.unknown", callId: left }];
  return idsOf(calls)
    .flatMap((id) => owedToCall(id, situation, world))
    .slice(0, 1);
}

/** What the tool runner does next about a call, unless it has to wait. */
function owedToCall(callId: string, situation: Situation, world: World): readonly Move[] {
  const { kinds, always, tried, started } = situation;
  const { calls, skipCalls, stopping } = situation.machine.context;
  const kind = kinds[callId] ?? "";
  const room = callsAtWork(situation).length < world.toolConcurrency;
  const start: readonly Move[] = room ? [{ type: "tool.started", callId }] : [];
  /** What a dead process had started may have had an effect. */
  const ended = (type: "tool.skipped" | "tool.denied"): readonly Move[] => [
    { type: tried.includes(callId) ? "tool.unknown" : type, callId },
  ];
  const decided = always[kind] === true ? start : ended("tool.denied");
  switch (entryOf(calls, callId)) {
    case "waiting":
      if (kind === "missing") return [{ type: "tool.failed", callId }];
      if (skipCalls) return ended("tool.skipped");
      if (always[kind] !== undefined) return decided;
      if (kind === "asking") return [];
      if (kind === "remote" && stopping === undefined)
        return [{ type: "tool.output-requested", callId }];
      if (kind !== "guarded" && kind !== "remote") return start;
      return stopping === undefined
        ? [{ type: "tool.approval-requested", callId }]
        : ended("tool.skipped");
    case "awaiting-approval":
      if (skipCalls || stopping !== undefined) return ended("tool.skipped");
      return isForPerson(situation, callId) ? [] : decided;
    case "awaiting-output":
      return skipCalls || stopping !== undefined ? ended("tool.skipped") : [];
    case "approved":
      return skipCalls ? ended("tool.skipped") : start;
    case "refused":
      return ended("tool.denied");
    case "running":
      if (started.includes(callId)) return [];
      return skipCalls ? ended("tool.skipped") : start;
    default:
      return [];
  }
}

/** What users, the model and the tools may do to a session at rest or at work. */
function freeMoves(situation: Situation, world: World, bounds: Bounds): readonly Move[] {
  const { machine, told } = situation;
  const { queue, held, calls, stopping, attempt } = machine.context;
  const messages = messageMoves(situation, bounds);
  const atWork = callsAtWork(situation);
  // When time passes for the turn, it passes for its tools.
  const passes = !atWork.some((id) => told || situation.kinds[id] === "slow");
  // The time of a turn does not count while it waits for people alone.
  const timed = passes && !isWaiting(machine);
  const stops = stopMoves(situation, timed);
  if (machine.matches({ idle: "waiting" })) {
    return [
      ...messages,
      ...(held && queue.length > 0 ? ([{ type: "session.resumed" }] as const) : []),
      // Without a delivery since, there is nothing to leave.
      ...(situation.bulky ? ([{ type: "session.rewound", way: "back" }] as const) : []),
      ...(situation.bulky && situation.lastTurn.length > 0
        ? ([{ type: "session.rewound", way: "again" }] as const)
        : []),
      { type: "context.compaction-started" },
      { type: "session.closed" },
    ];
  }
  if (machine.matches({ streaming: "backingOff" })) {
    return [{ type: "step.started" }, ...messages, ...stops];
  }
  if (machine.matches({ streaming: "calling" })) {
    const callsMore = idsOf(calls).length < bounds.callsInStep;
    const [first] = idsOf(calls);
    const retry: Move =
      first === undefined ? { type: "step.retrying" } : { type: "tool.skipped", callId: first };
    return [
      ...(callsMore ? bounds.kinds.map((kind) => ({ type: "part.tool-call", kind }) as const) : []),
      ...endings.flatMap((finishReason): readonly Move[] => {
        const move = { type: "step.finished", finishReason } as const;
        // Whether the next prompt still has the provider's call depends on what was said since.
        return situation.searches.waiting.length > 0 ? [move, { ...move, deferred: true }] : [move];
      }),
      { type: "step.failed" },
      // Only before it has said anything, and only once.
      ...(first === undefined && situation.overflow === undefined
        ? ([{ type: "context.overflowed" }] as const)
        : []),
      ...(attempt < world.maxAttempts && stopping === undefined ? [retry] : []),
      ...messages,
      ...stops,
    ];
  }
  if (!machine.matches("tools")) return [];
  return [
    ...idsOf(calls).flatMap((callId) => freeToCall(callId, situation, world, bounds)),
    ...messages,
    ...stops,
  ];
}

const endings = ["stop", "tool-calls", "length", "content-filter"] as const;

function messageMoves(
  { machine }: Situation,
  { waitingMessages, laterMessages }: Bounds = unbounded,
): readonly Move[] {
  const { queue, later } = machine.context;
  return [
    ...(later.length < laterMessages
      ? ([{ type: "message.queued", delivery: "follow-up", later: true }] as const)
      : []),
    ...(later.length > 0 && laterMessages > 0
      ? ([{ type: "message.withdrawn", later: true }] as const)
      : []),
    // One whose time comes takes a place in the queue.
    ...(later.length > 0 && laterMessages > 0 && queue.length < waitingMessages
      ? ([{ type: "message.rescheduled", later: true }] as const)
      : []),
    ...(queue.length < waitingMessages
      ? ([
          { type: "message.queued", delivery: "steer" },
          { type: "message.queued", delivery: "follow-up" },
        ] as const)
      : []),
    ...(queue.length > 0
      ? ([{ type: "message.withdrawn" }, { type: "message.rescheduled" }] as const)
      : []),
  ];
}

/** @param timed - The time of the turn may be up. */
function stopMoves({ machine }: Situation, timed: boolean): readonly Move[] {
  const { stopping, skipCalls } = machine.context;
  return [
    ...(stopping === undefined || !skipCalls
      ? ([{ type: "turn.cancel-requested", mode: "now" }] as const)
      : []),
    ...(stopping === undefined
      ? ([{ type: "turn.cancel-requested", mode: "after-tools" }] as const)
      : []),
    ...(timed && !(stopping !== undefined && skipCalls)
      ? ([{ type: "turn.limit-reached" }] as const)
      : []),
  ];
}

function freeToCall(
  callId: string,
  situation: Situation,
  world: World,
  bounds: Bounds,
): readonly Move[] {
  const { calls, stopping } = situation.machine.context;
  const kind = situation.kinds[callId];
  const atWork = callsAtWork(situation);
  switch (entryOf(calls, callId)) {
    case "running": {
      if (!atWork.includes(callId)) return [];
      // Told to stop, tools are left behind in the order in which they were started.
      const left = situation.told
        ? situation.started.find((id) => atWork.includes(id)) === callId
        : kind === "slow";
      return [
        { type: "tool.succeeded", callId },
        { type: "tool.failed", callId },
        ...(left ? ([{ type: "tool.unknown", callId }] as const) : []),
      ];
    }
    case "awaiting-approval":
      // An answer for good is the answer of each call that waits, so a person has nothing left to say.
      if (!isForPerson(situation, callId)) return [];
      return [true, false].flatMap((approved) => [
        { type: "tool.approval-answered", callId, approved } as const,
        ...(bounds.always
          ? ([{ type: "tool.approval-answered", callId, approved, always: true }] as const)
          : []),
      ]);
    case "awaiting-output":
      return [
        { type: "tool.succeeded", callId },
        { type: "tool.failed", callId },
      ];
    case "waiting":
      if (kind !== "asking") return [];
      return [
        { type: stopping === undefined ? "tool.approval-requested" : "tool.skipped", callId },
        { type: "tool.failed", callId },
        ...(atWork.length < world.toolConcurrency
          ? ([{ type: "tool.started", callId }] as const)
          : []),
      ];
    default:
      return [];
  }
}

function idsOf(calls: Situation["machine"]["context"]["calls"]): readonly string[] {
  return entriesOf(calls).map(([id]) => id);
}

/** Whether all that is left of a step waits for people or clients. */
function isWaiting(machine: Situation["machine"]): boolean {
  const awaited = new Set(["ended", "awaiting-approval", "awaiting-output"]);
  return (
    machine.matches("tools") &&
    entriesOf(machine.context.calls).every(([, call]) => awaited.has(call))
  );
}
