/** What has to be done to a real session so that a move comes: by its user, its model, its tools or time. */

import { APICallError } from "ai";
import type { CompactionStrategy } from "../../src/context/index.ts";
import { entriesOf } from "../../src/events/index.ts";
import { tooLong } from "../support/billing-model.ts";
import { approvalIdOf, requestIdOf } from "./asked-calls.ts";
import type { ScriptedPart } from "../../src/models/index.ts";
import type { CallAnswer } from "../../src/commands/index.ts";
import { SLOW_LIMIT_MS } from "./conducted-tools.ts";
import { FAR, GRACE_MS, time, TURN_MS } from "./held-time.ts";
import type { Move } from "./moves.ts";
import { owedMoves } from "./possible-moves.ts";
import {
  callKey,
  laterId,
  messageId,
  givenCallId,
  nextCallId,
  nextSearchId,
  type Situation,
} from "./situation.ts";
import type { Stage } from "./stage.ts";

/** What cannot be seen in a move: which of several ways leads to it, and what comes of it. */
export interface Manner {
  /** A compaction that is begun finds something to gain. */
  readonly gainful?: boolean;
  /** A failure that breaks the stream off instead of being reported in it. */
  readonly abrupt?: boolean;
}

/**
 * Provokes a move, and does not wait for it. What the runtime does by itself needs no provoking.
 * A caller that wants to know what it is doing lets the session come to rest before.
 */
export function provoke(stage: Stage, move: Move, manner: Manner = {}): void {
  const { situation, world } = stage;
  if (owedMoves(situation, world).length > 0) return;
  const { session } = stage;
  const { model, tools } = stage.process;
  const key = "callId" in move ? callKey(situation, move.callId) : "";
  switch (move.type) {
    case "message.queued":
      return move.later === true ? sendLater(stage) : send(stage, move.delivery);
    case "message.withdrawn": {
      const id = move.later === true ? oldestLater(situation) : oldestMessage(situation);
      return stage.ask("withdraw", session.withdraw(id));
    }
    case "message.rescheduled": {
      if (move.later === true) {
        const id = oldestLater(situation);
        return stage.ask(`due ${id}`, session.reschedule(id, { notBefore: new Date(0) }));
      }
      const [oldest] = situation.machine.context.queue;
      const delivery = oldest?.delivery === "steer" ? "follow-up" : "steer";
      return stage.ask("reschedule", session.reschedule(oldestMessage(situation), delivery));
    }
    case "session.resumed":
      return stage.ask("resume", session.resume());
    case "session.rewound":
      if (move.way === "back") return stage.ask("rewind", session.rewind({ to: 1 }));
      return stage.ask(
        "regenerate",
        session.regenerate().then((turn) => stage.expectResult(turn)),
      );
    case "session.closed":
      return stage.ask("close", session.close());
    case "turn.cancel-requested":
      return stage.ask(`cancel ${move.mode}`, session.cancel({ mode: move.mode }));
    case "turn.limit-reached":
      return time.pass(TURN_MS);
    case "context.compaction-started":
      return stage.ask("compact", session.compact(manner.gainful === true ? everything : nothing));
    case "part.tool-call": {
      if (move.kind === "searching") return model.say(searchOf(nextSearchId(situation)));
      const input = { key: callKey(situation, nextCallId(situation)) };
      return model.say({ type: "tool-call", toolCallId: givenCallId, toolName: move.kind, input });
    }
    case "step.finished":
      if (!isEnding(move.finishReason)) break;
      return model.end(move.finishReason);
    case "step.failed": {
      // An error that passes is tried again, but not forever, and not in a turn that stops.
      const { attempt, stopping } = situation.machine.context;
      const passes = attempt >= world.maxAttempts || stopping !== undefined;
      return model.fail(refusal(passes), manner.abrupt === true ? "break" : "error");
    }
    case "context.overflowed":
      stage.process.room.gainful = manner.gainful === true;
      return model.fail(tooLong(900, 800), "error");
    case "step.retrying":
      return model.fail(refusal(true), manner.abrupt === true ? "break" : "error");
    case "step.started":
      return time.endBackOff();
    case "tool.skipped":
      // In a step that is tried again its calls are given up.
      if (situation.machine.matches("streaming")) {
        return model.fail(refusal(true), manner.abrupt === true ? "break" : "error");
      }
      return tools.decide(key, true);
    case "tool.approval-requested":
      return tools.decide(key, true);
    case "tool.started":
      return tools.decide(key, false);
    case "tool.approval-answered": {
      const always = move.always === true;
      const approvalId = approvalIdOf(stage, move.callId);
      const answer = move.approved
        ? session.approve(approvalId, { always })
        : session.deny(approvalId, { always });
      return stage.ask(`an answer for call ${move.callId}`, answer);
    }
    case "tool.succeeded":
      if (isRemote(situation, move.callId))
        return answerCall(stage, move.callId, { output: { done: true } });
      return tools.end(key);
    case "tool.failed":
      if (isRemote(situation, move.callId))
        return answerCall(stage, move.callId, { error: "The client broke." });
      if (tools.isAsked(key)) return tools.decide(key, new Error("Undecided."));
      return tools.end(key, new Error("The tool broke."));
    case "tool.unknown":
      tools.abandon(key);
      return time.pass(situation.told ? GRACE_MS : SLOW_LIMIT_MS + GRACE_MS);
    default:
      break;
  }
  throw new Error(`Nothing that could be done would lead to ${move.type} here.`);
}

/** What ends a session's work in the plainest way: undefined when it is at rest for good. */
export function plainMove({ machine, kinds, started }: Situation): Move | undefined {
  if (machine.matches({ streaming: "calling" })) {
    return { type: "step.finished", finishReason: "stop" };
  }
  if (machine.matches({ streaming: "backingOff" })) return { type: "step.started" };
  for (const [callId, call] of entriesOf(machine.context.calls)) {
    if (call === "running" && started.includes(callId)) return { type: "tool.succeeded", callId };
    if (call === "awaiting-approval")
      return { type: "tool.approval-answered", callId, approved: true };
    if (call === "awaiting-output") return { type: "tool.succeeded", callId };
    if (call === "waiting" && kinds[callId] === "asking") return { type: "tool.started", callId };
  }
  return undefined;
}

function isRemote({ kinds }: Situation, callId: string): boolean {
  return kinds[callId] === "remote";
}

function answerCall(stage: Stage, callId: string, answer: CallAnswer): void {
  stage.ask(
    `an output for call ${callId}`,
    stage.session.answerCall(requestIdOf(stage, callId), answer),
  );
}

/** A call that the provider runs and answers later. */
function searchOf(toolCallId: string): ScriptedPart {
  const call = { toolCallId, toolName: "searching", input: JSON.stringify({ key: toolCallId }) };
  return { type: "raw-part", part: { type: "tool-call", ...call, providerExecuted: true } };
}

/** Its answer. */
export function foundBy(toolCallId: string): ScriptedPart {
  const part = {
    type: "tool-result",
    toolCallId,
    toolName: "searching",
    result: "Found.",
  } as const;
  return { type: "raw-part", part };
}

function send(stage: Stage, delivery: "steer" | "follow-up"): void {
  const id = messageId(stage.situation);
  const sent = stage.session.send(text, { id, delivery });
  stage.ask(
    `message ${id}`,
    sent.then((turn) => stage.expectResult(turn)),
  );
}

/** Its time does not come by itself: time passes for other things too. */
function sendLater(stage: Stage): void {
  const id = laterId(stage.situation);
  stage.ask(`message ${id}`, stage.session.send(text, { id, notBefore: FAR }));
}

/** Long enough that leaving it out gains something. */
const text = "Go on with it, please. ".repeat(100);

function oldestMessage({ machine }: Situation): string {
  return machine.context.queue[0]?.id ?? "none";
}

function oldestLater({ machine }: Situation): string {
  return machine.context.later[0] ?? "none";
}

const everything: CompactionStrategy = {
  name: "everything",
  plan({ items }) {
    const [first, last] = [items[0], items.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    return { covers: { from: first.position, to: last.position }, summary: "" };
  },
};

const nothing: CompactionStrategy = { name: "nothing", plan: () => undefined };

function isEnding(reason: string): reason is "stop" | "tool-calls" | "length" | "content-filter" {
  return ["stop", "tool-calls", "length", "content-filter"].includes(reason);
}

function refusal(isRetryable: boolean): Error {
  return new APICallError({
    message: isRetryable ? "Overloaded." : "Forbidden.",
    url: "https://provider.test",
    requestBodyValues: {},
    statusCode: isRetryable ? 503 : 403,
    isRetryable,
  });
}
