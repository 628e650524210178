/** Turns and steps are numbered without a gap, and do not overlap. */

import { type SessionEvent, digestIn, HashChain, type ChainEnd } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";
import { canRewind } from "../../state/index.ts";

export function orderCheck(): Check {
  let turn = { number: 0, open: false };
  let step = { number: 0, attempt: 0, open: false };
  /** The last attempt was refused as too long: its step may still fail. */
  let overflowed = false;

  function onStepStart({ data }: SessionEvent<"step.started">): readonly string[] {
    const { step: number, attempt } = data;
    const next = attempt === 1 ? step.number + 1 : step.number;
    const problems = [
      ...(turn.open && data.turn === turn.number ? [] : ["it belongs to no running turn"]),
      ...(step.open ? [`step ${step.number} has not ended`] : []),
      ...(number === next ? [] : [`step ${number}, attempt ${attempt}, after step ${step.number}`]),
      ...(attempt > 1 && attempt !== step.attempt + 1
        ? [`attempt ${attempt} after ${step.attempt}`]
        : []),
    ];
    step = { number, attempt, open: true };
    overflowed = false;
    return problems;
  }

  function onStepEnd(
    event: SessionEvent<"step.retrying" | "step.finished" | "step.failed" | "step.interrupted">,
  ): readonly string[] {
    const was = step;
    const mayFail = overflowed;
    step = { ...step, open: false };
    overflowed = false;
    if (event.data.step !== was.number) return [`step ${was.number} is the one that runs`];
    // An interruption may end a step while it waits for its next attempt.
    return was.open || mayFail || event.type === "step.interrupted" ? noFaults : ["it had ended"];
  }

  function onOverflow({ data }: SessionEvent<"context.overflowed">): readonly string[] {
    const was = step;
    step = { ...step, open: false };
    overflowed = true;
    return was.open && data.step === was.number ? noFaults : [`step ${was.number} is the one`];
  }

  function faults(event: SessionEvent): readonly string[] {
    switch (event.type) {
      case "turn.started": {
        const was = turn;
        turn = { number: event.data.turn, open: true };
        return [
          ...(was.open ? [`turn ${was.number} has not ended`] : []),
          ...(turn.number === was.number + 1 ? [] : [`turn ${turn.number} after ${was.number}`]),
        ];
      }
      case "turn.ended": {
        const was = turn;
        turn = { ...turn, open: false };
        return [
          ...(was.open && event.data.turn === was.number ? [] : ["it had not begun"]),
          ...(step.open ? [`step ${step.number} has not ended`] : []),
        ];
      }
      case "step.started":
        return onStepStart(event);
      case "context.overflowed":
        return onOverflow(event);
      case "step.failed-over": {
        const { step: number, attempt } = event.data;
        const isOne = attempt === undefined ? number === step.number + 1 : number === step.number;
        const isRight = attempt === undefined ? !step.open : step.open && attempt === step.attempt;
        return isOne && isRight ? noFaults : [`step ${step.number} is the one`];
      }
      case "context.reduced":
        return step.open && event.data.step === step.number
          ? noFaults
          : [`step ${step.number} is the one that runs`];
      case "step.retrying":
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        return onStepEnd(event);
      case "message.delivered":
        return turn.open && event.data.turn === turn.number ? noFaults : ["there is no such turn"];
      default:
        return event.type.startsWith("part.") && !step.open ? ["no step is running"] : noFaults;
    }
  }

  return {
    rule: "order",
    onEvent: (event) => {
      const found = faults(event);
      return found.length === 0 ? found : found.map((what) => `${event.type}: ${what}`);
    },
  };
}

// Every link of a hash chain has the digest of the events that it covers. A session without links has no chain.

interface ChainCheck {
  /** Faults of an event, in words. */
  onEvent(event: SessionEvent): readonly string[];
  /** Faults of a log that ends at a position. */
  end(position: number): readonly string[];
}

/** Needs no state. `chain` takes each event. `expected`: a link that was kept outside of the store. */
export function chainCheck(chain: HashChain = new HashChain(), expected?: ChainEnd): ChainCheck {
  return {
    onEvent(event) {
      const before = chain.end?.position ?? 0;
      const computed = isLink(event) ? chain.digest(event) : undefined;
      chain.take(event);
      const recorded = digestIn(event);
      const isNoted = expected === undefined || expected.position !== event.position;
      if (computed === recorded && isNoted) return noFaults;
      return [
        ...(computed === recorded
          ? noFaults
          : [
              `an event from ${Math.max(1, before)} to ${event.position} was changed, removed or inserted: their digest is ${computed}, but the link says ${recorded}`,
            ]),
        ...(isNoted || expected.digest === recorded
          ? noFaults
          : [`the noted link says ${expected.digest}, but the log has ${recorded ?? "no link"}`]),
      ];
    },
    end(position) {
      return expected === undefined || expected.position <= position
        ? noFaults
        : [`a link was noted at ${expected.position}, but the log ends at ${position}`];
    },
  };
}

type Link = Parameters<HashChain["digest"]>[0];

/** The event that closes a session is a link only if it has a digest. */
function isLink(event: SessionEvent): event is Link {
  return event.type === "session.chained" || digestIn(event) !== undefined;
}

// Law 16: no reply has two calls of one id. Earlier releases recorded such replies: they showed the first call, and
// may have run it with the input of the last one.

export function identityCheck(): Check {
  let step = 0;
  /** The calls of the attempt that runs, each with whether it is ours. */
  let calls = new Map<string, boolean>();

  function onCall({ data }: SessionEvent<"part.tool-call">): readonly string[] {
    const { toolCallId: id } = data;
    const isOurs = data.providerExecuted !== true;
    const before = calls.get(id);
    calls.set(id, isOurs || before === true);
    // What the provider ran twice has no effect here.
    if (before === undefined || (!isOurs && !before)) return noFaults;
    return [
      `the reply of step ${step} has two calls with the id ${id}, which an earlier release took for one: the call that ran may have had a different input than the one that was shown and approved`,
    ];
  }

  return {
    rule: "identity",
    onEvent(event) {
      switch (event.type) {
        case "step.started":
          ({ step } = event.data);
          calls = new Map();
          return noFaults;
        case "part.tool-call":
          return onCall(event);
        default:
          return noFaults;
      }
    },
  };
}

// A rewind names a boundary between turns, and a checkout the head of another branch (law 12).

export function branchCheck(): Check {
  return {
    rule: "branches",
    onEvent: (event, before) =>
      event.type !== "session.rewound" || canRewind(before, event)
        ? noFaults
        : [`position ${event.data.to} is no boundary to which the session could be rewound here`],
  };
}

// Each reasoning part that is marked as dropped is in a span of a `session.thinned`.

export function trimmedCheck(): Check {
  /** Positions of dropped parts that no `session.thinned` has named yet. */
  let marked: number[] = [];
  return {
    rule: "thinned",
    onEvent(event) {
      if (isMarked(event)) marked.push(event.position);
      // A fork may branch off before that event: the shared part belongs to its origin.
      if (event.type === "session.forked") marked = [];
      if (event.type !== "session.thinned") return noFaults;
      const { drop, spans } = event.data;
      const isNamed = (position: number): boolean =>
        spans.some(({ from, to }) => from <= position && position <= to);
      if (drop === "reasoning") marked = marked.filter((position) => !isNamed(position));
      return spans.every(({ from, to }) => from <= to && to < event.position)
        ? noFaults
        : ["it refers to events that are not before it"];
    },
    onEnd: () =>
      marked.length === 0
        ? noFaults
        : [`reasoning is missing at ${marked.join(", ")}, but no event says that it was dropped`],
  };
}

function isMarked({ type, data }: SessionEvent): boolean {
  switch (type) {
    case "part.reasoning-start":
    case "part.reasoning-delta":
    case "part.reasoning-end":
    case "part.reasoning-file":
    case "part.raw":
      return data.dropped === true;
    default:
      return false;
  }
}
