/**
 * Validates the arguments of sessions and of the runtime's session methods, so that the code behind them may rely
 * on types. `send` parses the message itself, `prepareAgent` the agent.
 */

import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import {
  check,
  code,
  flag,
  implementation,
  moment,
  name,
  oneOf,
  optionsOf,
  position,
  shortName,
  report,
  text,
  thing,
} from "../../validation/index.ts";
import type { ApprovalAnswer } from "../session/answers.ts";
import type { CancelOptions, WithdrawOptions } from "../session/commands.ts";
import type { CompactOptions } from "../prompt/prompts.ts";
import type { PreviewOptions } from "../prompt/preview.ts";
import {
  metadataSchema,
  redactSchema,
  redactedSchema,
  shortText,
  signal,
} from "./runtime-schema.ts";
import type {
  AgentChanges,
  ForkOptions,
  MoveOptions,
  RegenerateOptions,
  RerunOptions,
  ScheduleOptions,
  SendOptions,
} from "./session-options.ts";
import type { Session } from "./session.ts";
import { toJson } from "../../shared/index.ts";
import { outputSchema, strategySchema, turnContextSchema } from "../../agent/index.ts";

type EventsOptions = NonNullable<Parameters<Session["events"]>[0]>;
type AppendOptions = NonNullable<Parameters<Session["append"]>[2]>;
type RestOptions = NonNullable<Parameters<Session["atRest"]>[0]>;
type ContextAt = NonNullable<Parameters<Session["context"]>[0]>;

const anything = z.unknown();
const delivery = oneOf("steer", "follow-up");
/** The decider reads the fields. */
const basedOn = thing("an object with `turn` or `messageId`", isSeen);
const sendSchema = optionsOf<SendOptions>(
  {
    id: shortName,
    delivery,
    notBefore: moment,
    replaces: shortName,
    basedOn,
    by: shortName,
    context: turnContextSchema,
    output: outputSchema,
    options: anything,
  },
  {},
).and(
  thing(
    "an object without `notBefore` if it `replaces` a message: an edit is sent immediately",
    (value) =>
      Reflect.get(Object(value), "notBefore") === undefined ||
      Reflect.get(Object(value), "replaces") === undefined,
  ),
);
const scheduleSchema = z.unknown().superRefine((value, context) => {
  if (delivery.safeParse(value).success) return;
  report(scheduleOptions, value, context, [], ', or "steer" or "follow-up"');
});
const scheduleOptions = optionsOf<ScheduleOptions>({ delivery, notBefore: moment }, {});
const moveSchema = optionsOf<MoveOptions>({ tell: flag, basedOn, by: shortName }, {});
type RewindFields = MoveOptions & {
  readonly to?: number;
  readonly beforeTurn?: number;
  readonly beforeMessage?: string;
};
const rewindSchema = optionsOf<RewindFields>(
  {
    to: position,
    beforeTurn: position,
    beforeMessage: shortName,
    tell: flag,
    basedOn,
    by: shortName,
  },
  {},
).and(thing("an object with one of `to`, `beforeTurn` and `beforeMessage`", hasOnePlace));
const regenerateSchema = optionsOf<RegenerateOptions>(
  {
    messageId: shortName,
    idempotencyKey: shortName,
    basedOn,
    by: shortName,
    context: turnContextSchema,
    output: outputSchema,
    options: anything,
  },
  {},
);
const cancelSchema = optionsOf<CancelOptions>(
  { mode: oneOf("now", "after-tools"), reason: text, withdraw: flag, by: shortName },
  {},
);
const withdrawSchema = z.union([
  text,
  optionsOf<WithdrawOptions>({ reason: text, by: shortName }, {}),
]);
const compactSchema = optionsOf<CompactOptions>({ by: shortName }, {});
const answerSchema = optionsOf<ApprovalAnswer>({ reason: text, always: flag, by: shortName }, {});
/** Exactly one of the two, and no other key. */
const callAnswerSchema = thing(
  "`{ output }`, or `{ error }` with a text, and `by` with the name of the person who answers",
  (value) => {
    if (typeof value !== "object" || value === null) return false;
    const { by, ...answer } = { by: undefined, ...value };
    const isNamed = !("by" in value) || (typeof by === "string" && by !== "");
    const isError = "error" in answer && typeof answer.error === "string";
    return isNamed && Object.keys(answer).length === 1 && ("output" in answer || isError);
  },
);
const atSchema = optionsOf<ContextAt>({ position }, {});
const previewSchema = optionsOf<PreviewOptions>({ position, compact: strategySchema }, {});
/** `prepareAgent` checks these. */
const agentChanges = {
  agent: anything,
  model: anything,
  instructions: anything,
  tools: anything,
};
const forkSchema = optionsOf<ForkOptions>(
  { ...agentChanges, position, id: anything },
  {},
  {
    hints: {
      edit: "a fork edits no message. Call `send(text, { replaces: messageId })`, on the session or on a fork of it.",
      undo: "a fork rewinds no turn. Call `rewind({ beforeTurn })`, on the session or on a fork of it.",
    },
  },
);
const configureSchema = optionsOf<AgentChanges>(agentChanges, {});
const rerunSchema = optionsOf<RerunOptions>(
  { ...agentChanges, position, step: position, id: anything },
  {},
);
const eventsSchema = optionsOf<EventsOptions>(
  {
    from: position,
    signal,
    subAgent: name,
  },
  {},
);
const appendSchema = optionsOf<AppendOptions>(
  {
    id: shortText(256),
  },
  {},
);
const version = thing("a whole number", Number.isSafeInteger);
const projectionSchema = implementation(
  { name, version, follows: oneOf("branch", "log"), fold: code },
  {},
);
const restSchema = optionsOf<RestOptions>({ signal }, {});

const turnSeen = z.strictObject({ turn: z.int().nonnegative() });
const messageSeen = z.strictObject({ messageId: z.string().min(1) });

function isSeen(value: unknown): boolean {
  return turnSeen.safeParse(value).success || messageSeen.safeParse(value).success;
}

function hasOnePlace(value: unknown): boolean {
  const given = (place: string): boolean => Reflect.get(Object(value), place) !== undefined;
  return ["to", "beforeTurn", "beforeMessage"].filter(given).length === 1;
}

/** By position in the call; undefined if the command checks the argument itself. */
type Signature = readonly (Parameter | undefined)[];

interface Parameter {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly isOptional: boolean;
  /** The form in which a command uses a checked argument, here or in another process. */
  readonly own: (value: unknown) => unknown;
}

function required(named: string, schema: z.ZodType, own = ownOptions): Parameter {
  return { name: named, schema, isOptional: false, own };
}

function optional(named: string, schema: z.ZodType, own = ownOptions): Parameter {
  return { name: named, schema, isOptional: true, own };
}

/** Methods of an object may be inherited. */
const asGiven = (value: unknown): unknown => value;

const answer = [required("approvalId", text), optional("answer", answerSchema)];

/** The parameters of each command. Commands that are not here take none. */
const commands: ReadonlyMap<unknown, Signature> = new Map<keyof Session, Signature>([
  ["send", [undefined, optional("options", sendSchema)]],
  ["turn", [required("messageId", shortName)]],
  ["cancel", [optional("options", cancelSchema)]],
  ["approve", answer],
  ["deny", answer],
  ["answerCall", [required("requestId", text), required("answer", callAnswerSchema, ownAnswer)]],
  ["forgetApproval", [required("toolName", text)]],
  ["withdraw", [required("messageId", shortName), optional("reasonOrOptions", withdrawSchema)]],
  ["reschedule", [required("messageId", shortName), required("to", scheduleSchema)]],
  ["compact", [optional("strategy", strategySchema, asGiven), optional("options", compactSchema)]],
  ["restore", [optional("position", position)]],
  ["rewind", [required("options", rewindSchema)]],
  ["checkout", [required("branch", position), optional("options", moveSchema)]],
  ["regenerate", [optional("options", regenerateSchema)]],
  ["preview", [optional("options", previewSchema)]],
  ["context", [optional("options", atSchema)]],
  ["at", [required("position", position)]],
  ["diff", [required("before", position), required("after", position)]],
  ["fork", [optional("options", forkSchema)]],
  ["configure", [required("changes", configureSchema)]],
  ["setMetadata", [required("metadata", metadataSchema, toJson)]],
  ["rerun", [optional("options", rerunSchema)]],
  ["redact", [required("what", redactedSchema), optional("options", redactSchema)]],
  ["events", [optional("options", eventsSchema)]],
  ["append", [required("type", text), undefined, optional("options", appendSchema)]],
  ["project", [required("projection", projectionSchema, asGiven), optional("options", atSchema)]],
  ["follow", [required("projection", projectionSchema, asGiven), optional("options", restSchema)]],
  ["atRest", [optional("options", restSchema)]],
  ["close", [optional("reason", text)]],
]);

/** One handler for all sessions takes less memory than a checked copy of each. */
const validation: ProxyHandler<Session> = {
  get(session, command) {
    const method: unknown = Reflect.get(session, command);
    if (!commands.has(command) || typeof method !== "function") return method;
    return (...given: readonly unknown[]): unknown => {
      let args: readonly unknown[];
      try {
        args = ownArguments(session.id, String(command), given);
      } catch (error) {
        // All others return a promise.
        if (command === "events" || command === "follow" || !TurnlogError.isInstance(error))
          throw error;
        return Promise.reject(error);
      }
      return Reflect.apply(method, session, args);
    };
  },
};

/**
 * The arguments of a command, checked and in the form in which the command is executed. The form must be the same
 * here and in another process. Values that belong to the program stay as they are: contexts, models, schemas.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function ownArguments(
  session: string,
  command: string,
  given: readonly unknown[],
): readonly unknown[] {
  const parameters = commands.get(command) ?? [];
  return parameters.map((parameter, index) => {
    const value = given[index];
    if (parameter === undefined || (value === undefined && parameter.isOptional)) return value;
    check(parameter.schema, value, command, { name: parameter.name, session });
    return parameter.own(value);
  });
}

/** A copy, since the caller may change its options while the command waits. Inherited fields count too. */
function ownOptions(option: unknown): unknown {
  if (Array.isArray(option)) return option.map((inner: unknown) => ownOptions(inner));
  if (typeof option !== "object" || option === null) return option;
  const own: Record<string, unknown> = {};
  for (const key in option) {
    const value: unknown = Reflect.get(option, key);
    if (value !== undefined) own[key] = fields[key]?.(value) ?? value;
  }
  return own;
}

/** Fields whose given values are not JSON. */
const fields: Readonly<Record<string, (value: unknown) => unknown>> = {
  notBefore: (time) => (time instanceof Date ? time.toISOString() : time),
  basedOn: ownOptions,
};

/** An output is recorded as JSON, which is what its tool's `outputSchema` checks, wherever it comes from. */
function ownAnswer(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("output" in answer)) return answer;
  return { ...answer, output: toJson(answer.output) };
}

/** The session, with commands that throw `INVALID_INPUT` for arguments of other types. */
export function checkedSession(session: Session): Session {
  return new Proxy(session, validation);
}
