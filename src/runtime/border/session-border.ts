/**
 * The session as its user holds it: every argument is checked here, and what comes behind it may rely
 * on its type. A message itself is parsed by `send`, an agent when it is prepared.
 */

import type { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
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

/** Asks what was checked, without a turn of the event loop more than who asks it directly. */
function asked<Answer>(checks: () => void, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    checks();
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return Promise.reject(error);
  }
  return ask();
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
    send: (input, given) =>
      asked(
        () => {
          checkedOptional(sendShape, given, "send", "options");
        },
        () => inner.send(input, given),
      ),
    turn: (messageId) =>
      asked(
        () => {
          checked(name, messageId, "turn", "messageId");
        },
        () => inner.turn(messageId),
      ),
    cancel: (given) =>
      asked(
        () => {
          checkedOptional(cancelShape, given, "cancel", "options");
        },
        () => inner.cancel(given),
      ),
    approve: (callId, given) =>
      asked(
        () => {
          checked(text, callId, "approve", "callId");
          checkedOptional(answerShape, given, "approve", "answer");
        },
        () => inner.approve(callId, given),
      ),
    deny: (callId, given) =>
      asked(
        () => {
          checked(text, callId, "deny", "callId");
          checkedOptional(answerShape, given, "deny", "answer");
        },
        () => inner.deny(callId, given),
      ),
    forgetApproval: (toolName) =>
      asked(
        () => {
          checked(text, toolName, "forgetApproval", "toolName");
        },
        () => inner.forgetApproval(toolName),
      ),
    withdraw: (messageId, reason) =>
      asked(
        () => {
          checked(name, messageId, "withdraw", "messageId");
          checkedOptional(text, reason, "withdraw", "reason");
        },
        () => inner.withdraw(messageId, reason),
      ),
    reschedule: (messageId, to) =>
      asked(
        () => {
          checked(name, messageId, "reschedule", "messageId");
          checked(delivery, to, "reschedule", "delivery");
        },
        () => inner.reschedule(messageId, to),
      ),
    compact: (strategy) =>
      asked(
        () => {
          checkedOptional(strategyShape, strategy, "compact", "strategy");
        },
        () => inner.compact(strategy),
      ),
    restore: (at) =>
      asked(
        () => {
          checkedOptional(position, at, "restore", "position");
        },
        () => inner.restore(at),
      ),
    preview: (given) =>
      asked(
        () => {
          checkedOptional(previewShape, given, "preview", "options");
        },
        () => inner.preview(given),
      ),
    context: (given) =>
      asked(
        () => {
          checkedOptional(atShape, given, "context", "options");
        },
        () => inner.context(given),
      ),
    at: (there) =>
      asked(
        () => {
          checked(position, there, "at", "position");
        },
        () => inner.at(there),
      ),
    diff: (before, after) =>
      asked(
        () => {
          checked(position, before, "diff", "before");
          checked(position, after, "diff", "after");
        },
        () => inner.diff(before, after),
      ),
    fork: (given) =>
      asked(
        () => {
          checkedOptional(forkShape, given, "fork", "options");
        },
        () => inner.fork(given),
      ),
    rerun: (given) =>
      asked(
        () => {
          checkedOptional(rerunShape, given, "rerun", "options");
        },
        () => inner.rerun(given),
      ),
    redact: (what, given) =>
      asked(
        () => {
          checked(redactedShape, what, "redact", "what");
          checkedOptional(redactShape, given, "redact", "options");
        },
        () => inner.redact(what, given),
      ),
    events(given) {
      checkedOptional(eventsShape, given, "events", "options");
      return inner.events(given);
    },
    close: (reason) =>
      asked(
        () => {
          checkedOptional(text, reason, "close", "reason");
        },
        () => inner.close(reason),
      ),
  };
}
