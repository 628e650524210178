/**
 * The session as its user holds it: every argument is checked here, and what comes behind it may rely
 * on its type. A message itself is parsed by `send`, an agent when it is prepared.
 */

import type { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import type { Session } from "../session.ts";
import { check as checkValue } from "./check.ts";
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

/** By its place; undefined where the command checks what it is given itself. */
type Taken = readonly (Parameter | undefined)[];

interface Parameter {
  readonly name: string;
  readonly shape: z.ZodType;
  readonly isOptional: boolean;
}

function required(named: string, shape: z.ZodType): Parameter {
  return { name: named, shape, isOptional: false };
}

function optional(named: string, shape: z.ZodType): Parameter {
  return { name: named, shape, isOptional: true };
}

/** The same session, whose commands throw `INVALID_INPUT` for what is not of their types. */
export function checkedSession(inner: Session): Session {
  const session = inner.id;

  function check(command: string, given: readonly unknown[], parameters: Taken): void {
    for (const [index, parameter] of parameters.entries()) {
      if (parameter === undefined) continue;
      const value = given[index];
      if (value === undefined && parameter.isOptional) continue;
      checkValue(parameter.shape, value, command, { name: parameter.name, session });
    }
  }

  /** A command that is asked without a turn of the event loop more than who asks it directly. */
  function checked<Given extends readonly unknown[], Answer>(
    command: string,
    parameters: Taken,
    ask: (...given: Given) => Promise<Answer>,
  ): (...given: Given) => Promise<Answer> {
    return (...given) => {
      try {
        check(command, given, parameters);
      } catch (error) {
        if (!TurnlogError.isInstance(error)) throw error;
        return Promise.reject(error);
      }
      return ask(...given);
    };
  }

  const answered = [required("callId", text), optional("answer", answerShape)];
  return {
    ...inner,
    send: checked("send", [undefined, optional("options", sendShape)], (...given) =>
      inner.send(...given),
    ),
    turn: checked("turn", [required("messageId", name)], (...given) => inner.turn(...given)),
    cancel: checked("cancel", [optional("options", cancelShape)], (...given) =>
      inner.cancel(...given),
    ),
    approve: checked("approve", answered, (...given) => inner.approve(...given)),
    deny: checked("deny", answered, (...given) => inner.deny(...given)),
    forgetApproval: checked("forgetApproval", [required("toolName", text)], (...given) =>
      inner.forgetApproval(...given),
    ),
    withdraw: checked(
      "withdraw",
      [required("messageId", name), optional("reason", text)],
      (...given) => inner.withdraw(...given),
    ),
    reschedule: checked(
      "reschedule",
      [required("messageId", name), required("delivery", delivery)],
      (...given) => inner.reschedule(...given),
    ),
    compact: checked("compact", [optional("strategy", strategyShape)], (...given) =>
      inner.compact(...given),
    ),
    restore: checked("restore", [optional("position", position)], (...given) =>
      inner.restore(...given),
    ),
    preview: checked("preview", [optional("options", previewShape)], (...given) =>
      inner.preview(...given),
    ),
    context: checked("context", [optional("options", atShape)], (...given) =>
      inner.context(...given),
    ),
    at: checked("at", [required("position", position)], (...given) => inner.at(...given)),
    diff: checked("diff", [required("before", position), required("after", position)], (...given) =>
      inner.diff(...given),
    ),
    fork: checked("fork", [optional("options", forkShape)], (...given) => inner.fork(...given)),
    rerun: checked("rerun", [optional("options", rerunShape)], (...given) => inner.rerun(...given)),
    redact: checked(
      "redact",
      [required("what", redactedShape), optional("options", redactShape)],
      (...given) => inner.redact(...given),
    ),
    events(given) {
      check("events", [given], [optional("options", eventsShape)]);
      return inner.events(given);
    },
    close: checked("close", [optional("reason", text)], (...given) => inner.close(...given)),
  };
}
