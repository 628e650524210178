/**
 * The session as its user holds it: every argument is checked here, and what comes behind it may rely
 * on its type. A message itself is parsed by `send`, an agent when it is prepared.
 */

import { z } from "zod";
import { TurnlogError, type PositionRange } from "../events/index.ts";
import {
  check,
  code,
  flag,
  implementation,
  name,
  oneOf,
  optionsOf,
  position,
  text,
  thing,
} from "../validation/index.ts";
import type { ApprovalAnswer, CancelOptions } from "./session/index.ts";
import type { PreviewOptions } from "./prompt/index.ts";
import type { RedactOptions } from "../archive/index.ts";
import type { ForkOptions, RerunOptions, SendOptions, Session } from "./session.ts";
import { strategySchema } from "../agent/index.ts";

type EventsOptions = NonNullable<Parameters<Session["events"]>[0]>;
type ContextAt = NonNullable<Parameters<Session["context"]>[0]>;

const anything = z.unknown();
const delivery = oneOf("steer", "follow-up");
const signal = implementation({ addEventListener: code }, { aborted: flag });
const sendSchema = optionsOf<SendOptions>({ id: name, delivery }, {});
const cancelSchema = optionsOf<CancelOptions>(
  { mode: oneOf("now", "after-tools"), reason: text, withdraw: flag },
  {},
);
const answerSchema = optionsOf<ApprovalAnswer>({ reason: text, always: flag, by: name }, {});
const atSchema = optionsOf<ContextAt>({ at: position }, {});
const previewSchema = optionsOf<PreviewOptions>({ at: position, compact: strategySchema }, {});
/** Checked when the agent is prepared. */
const agentChanges = {
  agent: anything,
  model: anything,
  instructions: anything,
  tools: anything,
};
const forkSchema = optionsOf<ForkOptions>(
  { ...agentChanges, at: position, id: anything, edit: anything, undo: flag },
  {},
);
const rerunSchema = optionsOf<RerunOptions>(
  { ...agentChanges, at: position, step: position, id: anything },
  {},
);
const eventsSchema = optionsOf<EventsOptions>(
  {
    from: position,
    signal,
  },
  {},
);

export const redactSchema: z.ZodType = optionsOf<RedactOptions>({ reason: text }, {});
/** Positions and stretches of them, one or several. */
export const redactedSchema: z.ZodType = thing(
  "a position, an object with `from` and `to`, or a list of such",
  (value) => (Array.isArray(value) ? value : [value]).every(isTarget),
);
const rangeSchema = optionsOf<PositionRange>({}, { from: position, to: position });

function isTarget(value: unknown): boolean {
  return typeof value === "number"
    ? Number.isSafeInteger(value)
    : rangeSchema.safeParse(value).success;
}

/** By its place; undefined where the command checks what it is given itself. */
type Taken = readonly (Parameter | undefined)[];

interface Parameter {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly isOptional: boolean;
}

function required(named: string, schema: z.ZodType): Parameter {
  return { name: named, schema, isOptional: false };
}

function optional(named: string, schema: z.ZodType): Parameter {
  return { name: named, schema, isOptional: true };
}

const answer = [required("approvalId", text), optional("answer", answerSchema)];

/** What each command takes; a command that is not here takes nothing, or checks it itself. */
const commands: ReadonlyMap<unknown, Taken> = new Map<keyof Session, Taken>([
  ["send", [undefined, optional("options", sendSchema)]],
  ["turn", [required("messageId", name)]],
  ["cancel", [optional("options", cancelSchema)]],
  ["approve", answer],
  ["deny", answer],
  ["forgetApproval", [required("toolName", text)]],
  ["withdraw", [required("messageId", name), optional("reason", text)]],
  ["reschedule", [required("messageId", name), required("delivery", delivery)]],
  ["compact", [optional("strategy", strategySchema)]],
  ["restore", [optional("position", position)]],
  ["preview", [optional("options", previewSchema)]],
  ["context", [optional("options", atSchema)]],
  ["at", [required("position", position)]],
  ["diff", [required("before", position), required("after", position)]],
  ["fork", [optional("options", forkSchema)]],
  ["rerun", [optional("options", rerunSchema)]],
  ["redact", [required("what", redactedSchema), optional("options", redactSchema)]],
  ["events", [optional("options", eventsSchema)]],
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
    check(parameter.schema, value, command, { name: parameter.name, session });
  }
}

/** The same session, whose commands throw `INVALID_INPUT` for what is not of their types. */
export function checkedSession(session: Session): Session {
  return new Proxy(session, border);
}
