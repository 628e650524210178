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
const answerShape = options({ reason: text, always: flag, by: name });
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

const answer = [required("approvalId", text), optional("answer", answerShape)];

/** What each command takes; a command that is not here takes nothing, or checks it itself. */
const commands: ReadonlyMap<unknown, Taken> = new Map<keyof Session, Taken>([
  ["send", [undefined, optional("options", sendShape)]],
  ["turn", [required("messageId", name)]],
  ["cancel", [optional("options", cancelShape)]],
  ["approve", answer],
  ["deny", answer],
  ["forgetApproval", [required("toolName", text)]],
  ["withdraw", [required("messageId", name), optional("reason", text)]],
  ["reschedule", [required("messageId", name), required("delivery", delivery)]],
  ["compact", [optional("strategy", strategyShape)]],
  ["restore", [optional("position", position)]],
  ["preview", [optional("options", previewShape)]],
  ["context", [optional("options", atShape)]],
  ["at", [required("position", position)]],
  ["diff", [required("before", position), required("after", position)]],
  ["fork", [optional("options", forkShape)]],
  ["rerun", [optional("options", rerunShape)]],
  ["redact", [required("what", redactedShape), optional("options", redactShape)]],
  ["events", [optional("options", eventsShape)]],
  ["close", [optional("reason", text)]],
]);

/** One for all sessions: a checked copy of each would be larger than what it is a copy of. */
const border: ProxyHandler<Session> = {
  get(session, command) {
    const asked: unknown = Reflect.get(session, command);
    const taken = commands.get(command);
    if (taken === undefined || typeof asked !== "function") return asked;
    return (...given: readonly unknown[]): unknown => {
      try {
        checkAll(session.id, String(command), given, taken);
      } catch (error) {
        // All others answer with a promise.
        if (command === "events" || !TurnlogError.isInstance(error)) throw error;
        return Promise.reject(error);
      }
      return Reflect.apply(
        asked,
        session,
        given.map((value, index) => (taken[index] === undefined ? value : held(value))),
      );
    };
  },
};

/** Options as they were checked: a command that waits first does not look at what its caller made of them since. */
function held(option: unknown): unknown {
  if (Array.isArray(option)) return option.map((inner: unknown) => held(inner));
  if (typeof option !== "object" || option === null) return option;
  return Object.getPrototypeOf(option) === Object.prototype ? { ...option } : option;
}

function checkAll(session: string, command: string, given: readonly unknown[], taken: Taken): void {
  for (const [index, parameter] of taken.entries()) {
    if (parameter === undefined) continue;
    const value = given[index];
    if (value === undefined && parameter.isOptional) continue;
    check(parameter.shape, value, command, { name: parameter.name, session });
  }
}

/** The same session, whose commands throw `INVALID_INPUT` for what is not of their types. */
export function checkedSession(session: Session): Session {
  return new Proxy(session, border);
}
