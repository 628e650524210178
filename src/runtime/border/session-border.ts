/**
 * The session as its user holds it: every argument is checked here, and what comes behind it may rely
 * on its type. A message itself is parsed by `send`, an agent when it is prepared.
 */

import type { z } from "zod";
import type { Session } from "../session.ts";
import { check } from "./check.ts";
import { strategyShape } from "./agent-shape.ts";
import { code, flag, name, oneOf, options, position, text, thing } from "./shapes.ts";

const delivery = oneOf("steer", "follow-up");
const sendShape = options({ id: name, delivery });
const cancelShape = options({ mode: oneOf("now", "after-tools"), reason: text, withdraw: flag });
const answerShape = options({ reason: text, always: flag });
const atShape = options({ at: position });
const previewShape = options({ at: position, compact: strategyShape });
const forkShape = options({ at: position, undo: flag });
const rerunShape = options({ at: position, step: position });
const eventsShape = options({
  from: position,
  signal: options({}, { aborted: flag, addEventListener: code }),
});

export const redactShape: z.ZodType = options({ reason: text });
/** Positions and stretches of them, one or several. */
export const redactedShape: z.ZodType = thing(
  "a position, an object with `from` and `to`, or a list of such",
  (value) => (Array.isArray(value) ? value : [value]).every(isTarget),
);

function isTarget(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return false;
  return [Reflect.get(value, "from"), Reflect.get(value, "to")].every(Number.isSafeInteger);
}

/** The same session, whose commands throw `INVALID_INPUT` for what is not of their types. */
export function checkedSession(inner: Session): Session {
  const session = inner.id;
  const checked = (shape: z.ZodType, given: unknown, who: string, named: string): void => {
    check(shape, given, who, { name: named, session });
  };
  const checkedOptional = (shape: z.ZodType, given: unknown, who: string, named: string): void => {
    if (given !== undefined) checked(shape, given, who, named);
  };
  return {
    ...inner,
    async send(input, given) {
      checkedOptional(sendShape, given, "send", "options");
      return await inner.send(input, given);
    },
    async turn(messageId) {
      checked(name, messageId, "turn", "messageId");
      return await inner.turn(messageId);
    },
    async cancel(given) {
      checkedOptional(cancelShape, given, "cancel", "options");
      return await inner.cancel(given);
    },
    async approve(callId, given) {
      checked(text, callId, "approve", "callId");
      checkedOptional(answerShape, given, "approve", "answer");
      await inner.approve(callId, given);
    },
    async deny(callId, given) {
      checked(text, callId, "deny", "callId");
      checkedOptional(answerShape, given, "deny", "answer");
      await inner.deny(callId, given);
    },
    async withdraw(messageId, reason) {
      checked(name, messageId, "withdraw", "messageId");
      checkedOptional(text, reason, "withdraw", "reason");
      await inner.withdraw(messageId, reason);
    },
    async reschedule(messageId, to) {
      checked(name, messageId, "reschedule", "messageId");
      checked(delivery, to, "reschedule", "delivery");
      await inner.reschedule(messageId, to);
    },
    async compact(strategy) {
      checkedOptional(strategyShape, strategy, "compact", "strategy");
      return await inner.compact(strategy);
    },
    async restore(at) {
      checkedOptional(position, at, "restore", "position");
      await inner.restore(at);
    },
    async preview(given) {
      checkedOptional(previewShape, given, "preview", "options");
      return await inner.preview(given);
    },
    async context(given) {
      checkedOptional(atShape, given, "context", "options");
      return await inner.context(given);
    },
    async at(there) {
      checked(position, there, "at", "position");
      return await inner.at(there);
    },
    async diff(before, after) {
      checked(position, before, "diff", "before");
      checked(position, after, "diff", "after");
      return await inner.diff(before, after);
    },
    async fork(given) {
      checkedOptional(forkShape, given, "fork", "options");
      return await inner.fork(given);
    },
    async rerun(given) {
      checkedOptional(rerunShape, given, "rerun", "options");
      return await inner.rerun(given);
    },
    async redact(what, given) {
      checked(redactedShape, what, "redact", "what");
      checkedOptional(redactShape, given, "redact", "options");
      return await inner.redact(what, given);
    },
    events(given) {
      checkedOptional(eventsShape, given, "events", "options");
      return inner.events(given);
    },
    async close(reason) {
      checkedOptional(text, reason, "close", "reason");
      await inner.close(reason);
    },
  };
}
