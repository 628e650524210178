/** Sentences about a turn: failed model calls, limits, calls without an outcome, why it ended and what it cost. Pure. */

import {
  saysSomething,
  type FailoverReason,
  type FailureKind,
  type SessionEvent,
  type TokenUsage,
  type TurnEndReason,
} from "../../events/index.ts";
import { addUsage, noUsage } from "../../projections/index.ts";
import { amount, duration, excerpt, figure, linesOf, tokens } from "./wording.ts";

export interface TurnTally {
  /** Epoch milliseconds of the first event. */
  readonly startedAt: number | undefined;
  readonly steps: number;
  /** Characters of the reply, and of reasoning. */
  readonly text: number;
  readonly reasoning: number;
  /** Whether the model has said anything in the running step, or may have before the first event. */
  readonly says: boolean;
  /** Calls that succeeded or failed. */
  readonly results: number;
  /** Calls that were not started, and calls with an unknown outcome. */
  readonly skipped: number;
  readonly unknown: number;
  readonly usage: TokenUsage;
}

export const emptyTally: TurnTally = {
  startedAt: undefined,
  steps: 0,
  text: 0,
  reasoning: 0,
  says: true,
  results: 0,
  skipped: 0,
  unknown: 0,
  usage: noUsage,
};

export function tally(state: TurnTally, event: SessionEvent): TurnTally {
  const startedAt = state.startedAt ?? event.time;
  const next = { ...state, startedAt, says: state.says || saysSomething(event) };
  switch (event.type) {
    case "step.started":
      return { ...next, says: false, steps: state.steps + (event.data.attempt === 1 ? 1 : 0) };
    case "part.text-delta":
      return { ...next, text: state.text + event.data.text.length };
    case "part.reasoning-delta":
      return { ...next, reasoning: state.reasoning + event.data.text.length };
    case "tool.succeeded":
    case "tool.failed":
      return { ...next, results: state.results + 1 };
    case "tool.skipped":
      return { ...next, skipped: state.skipped + 1 };
    case "tool.unknown":
      return { ...next, unknown: state.unknown + 1 };
    case "step.retrying": {
      const { usage } = event.data;
      return usage === undefined ? next : { ...next, usage: addUsage(state.usage, usage) };
    }
    case "step.finished":
    case "step.failed":
    case "step.interrupted":
      return { ...next, usage: addUsage(state.usage, event.data.usage) };
    default:
      return next;
  }
}

/** Why the turn ended; undefined for the usual end. */
export function endingSentence(reason: TurnEndReason, tally: TurnTally): string | undefined {
  switch (reason) {
    case "stop":
      return tally.says ? undefined : "The model ended its turn without a reply.";
    case "length":
      return "The reply ends here: the model has reached its output limit.";
    case "content-filter":
      return "The provider's content filter has ended the reply.";
    case "max-steps":
      return "The turn ends here: it has reached its step limit.";
    case "stop-condition":
      return "The turn ends here: a condition of the agent's `stopWhen` was met.";
    case "timed-out":
      return `The turn's time was up. ${keptOf(tally)}`;
    case "repeating":
      return `The turn was ended because the model repeated itself. ${keptOf(tally)}`;
    case "out-of-budget":
      return `The turn was ended: its next call would have exceeded a spending limit. ${keptOf(tally)}`;
    case "cancelled":
      return `Cancelled. ${keptOf(tally)}`;
    case "failed":
      return `The turn failed. ${keptOf(tally)}`;
    case "interrupted":
      return `The turn was interrupted. ${keptOf(tally)}`;
  }
}

/** `tokens: 1,490 in, 54 out (17 reasoning) · 2 steps · 119 ms` */
export function costLine(
  { time: at }: SessionEvent<"turn.ended">,
  { usage, steps, startedAt }: TurnTally,
): string {
  const took = startedAt === undefined ? "" : ` · ${duration(at - startedAt)}`;
  return `tokens: ${tokens(usage)} · ${amount(steps, "step")}${took}`;
}

function keptOf({ text, reasoning, results, skipped, unknown }: TurnTally): string {
  const kept = linesOf(
    "your message",
    text > 0 && `${amount(text, "character")} of the reply`,
    reasoning > 0 && `${amount(reasoning, "character")} of reasoning`,
    results > 0 && amount(results, "tool result"),
  );
  const sentences = linesOf(
    `Kept in the session: ${kept.join(", ")}.`,
    skipped > 0 && `${amount(skipped, "call")} not started.`,
    unknown > 0 && `${amount(unknown, "call")} with an unknown outcome; the model will be told.`,
  );
  return sentences.join(" ");
}

const failures: Readonly<Record<FailureKind, string>> = {
  "rate-limit": "The provider asks for fewer calls",
  overloaded: "The provider is overloaded",
  network: "The provider could not be reached",
  server: "The provider failed",
  timeout: "The model took too long",
  "invalid-request": "The provider refused the request",
  authentication: "The provider refused the key",
  quota: "The provider's quota is used up",
  "content-filter": "The provider's content filter stepped in",
  "context-overflow": "The conversation has become too long for the model",
  "not-a-model": "The server that answered is not a model",
  unknown: "The model call failed",
};

const MESSAGE_LENGTH = 200;

/** `The provider is overloaded: <its words>. Trying again in 2.0 s (attempt 2).` */
export function retrySentence({ data }: SessionEvent<"step.retrying">): string {
  const { kind = "unknown", error, delayMs, attempt } = data;
  const message = excerpt(error.message, MESSAGE_LENGTH);
  const what = message === "" ? failures[kind] : `${failures[kind]}: ${message}`;
  const end = /[.!?…]$/.test(what) ? "" : ".";
  const wait = delayMs === 0 ? "" : ` in ${duration(delayMs)}`;
  return `${what}${end} Trying again${wait} (attempt ${attempt + 1}).`;
}

const moved: Readonly<Partial<Record<FailoverReason, string>>> = {
  "circuit-open": "failed several times in a row and is not called now",
  "not-in-agent": "took over before, but the agent has it no longer",
};

/** `one:m has failed: two:m takes over for the rest of the turn.` The error is in the next event. */
export function failoverSentence({ data }: SessionEvent<"step.failed-over">): string {
  const [from, to] = [data.from, data.to].map(({ provider, modelId }) => `${provider}:${modelId}`);
  return `${from} ${moved[data.why] ?? "has failed"}: ${to} takes over for the rest of the turn.`;
}

/** Only if one more step is granted; otherwise the end of the turn gives the reason. */
export function limitSentence({
  data: { limit, lastStep },
}: SessionEvent<"turn.limit-reached">): string | undefined {
  if (!lastStep) return undefined;
  const what = limit === "time" ? "The turn's time is up." : "The model repeats itself.";
  return `${what} It may conclude in one more step.`;
}

/** `$0.0150`, or `1,100 tokens`. */
function spendable(unit: "tokens" | "dollars", spent: number): string {
  return unit === "dollars" ? `$${spent.toFixed(4)}` : `${figure(spent)} tokens`;
}

export function heldSentence({
  of,
  unit,
  limit,
  spent,
}: SessionEvent<"turn.held">["data"]["budget"]): string {
  const which = of === "turn" || of === "session" ? `the ${of}'s limit` : `the limit for its ${of}`;
  return `The turn waits: its next call would pass ${which} of ${spendable(unit, limit)} (spent: ${spendable(unit, spent)}).`;
}

export function allowedSentence({
  data: { tokens, dollars, by },
}: SessionEvent<"turn.allowed">): string {
  const more = [
    ...(dollars === undefined ? [] : [spendable("dollars", dollars)]),
    ...(tokens === undefined ? [] : [spendable("tokens", tokens)]),
  ];
  return `The turn may spend ${more.join(" and ")} more${by === undefined ? "" : `, says ${by}`}.`;
}

const skipped: Readonly<Record<SessionEvent<"tool.skipped">["data"]["reason"], string>> = {
  cancelled: "not started: the turn was cancelled",
  recovered: "not started: the process ended first",
  interrupted: "not started: the reply was cut off",
  "timed-out": "not started: the turn's time was up",
};

/** A call that did not start. */
export function skippedWords({ data }: SessionEvent<"tool.skipped">): string {
  return skipped[data.reason];
}

const unknown: Readonly<Record<SessionEvent<"tool.unknown">["data"]["reason"], string>> = {
  cancelled: "it did not stop in time when the turn was cancelled",
  recovered: "the process ended while it ran",
  "timed-out": "it exceeded its time limit",
};

/** A call that started and has no recorded end: it may have succeeded. */
export function unknownWords({ data }: SessionEvent<"tool.unknown">): string {
  return `outcome unknown: ${unknown[data.reason]}; it may have done its work`;
}
