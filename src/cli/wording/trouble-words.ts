/** Sentences for failed model calls, limits, and calls that were skipped or have an unknown outcome. Pure. */

import type { FailureKind, SessionEvent } from "../../events/index.ts";
import { duration, excerpt } from "./wording.ts";

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
  "not-a-model": "What answered is no model",
  unknown: "The model call failed",
};

const MESSAGE_LENGTH = 200;

/** `The provider is overloaded: <its words>. Trying again in 2.0 s (attempt 2).` */
export function retrySentence({ data }: SessionEvent<"step.retrying">): string {
  const { kind = "unknown", error, delayMs, attempt } = data;
  const message = excerpt(error.message, MESSAGE_LENGTH);
  const what = message === "" ? failures[kind] : `${failures[kind]}: ${message}`;
  const end = /[.!?…]$/.test(what) ? "" : ".";
  return `${what}${end} Trying again in ${duration(delayMs)} (attempt ${attempt + 1}).`;
}

/** Only if one more step is granted; otherwise the end of the turn gives the reason. */
export function limitSentence({
  data: { limit, lastStep },
}: SessionEvent<"turn.limit-reached">): string | undefined {
  if (!lastStep) return undefined;
  const what = limit === "time" ? "The turn's time is up." : "The model repeats itself.";
  return `${what} It may conclude in one more step.`;
}

const skipped: Readonly<Record<SessionEvent<"tool.skipped">["data"]["reason"], string>> = {
  cancelled: "not started: the turn was cancelled",
  recovered: "not started: the process ended before",
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
