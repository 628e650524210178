/** The routes of a session's commands and of what is read of it: one for each path and method of the catalogue. */

import { z } from "zod";
import {
  commands,
  reads,
  rewoundSchema,
  type Command,
  type Parameter,
} from "../../commands/index.ts";
import {
  jsonObjectSchema,
  parseSessionId,
  sessionOfAsked,
  TurnlogError,
} from "../../events/index.ts";
import type { Session, Turn } from "../../runtime/index.ts";
import { flag } from "../../validation/index.ts";
import {
  claimFork,
  json,
  jsonQuery,
  numberQuery,
  ownMetadata,
  route,
  type Call,
  type Route,
} from "../route/route.ts";
import { messageInput, postedMessage } from "./posted-message.ts";
import { withShownQuestions } from "./shown-questions.ts";

type Served = Command & { readonly route: NonNullable<Command["route"]> };
/** The fields of a body or a query by name. */
type Given = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, z.ZodType>>;

export function catalogueRoutes(): readonly Route[] {
  const served = [...commands, ...reads].filter((command) => isServed(command));
  const groups = Map.groupBy(served, ({ route: { method, path } }) => `${method} ${path}`);
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [routeOf(first, [first, ...others])],
  );
}

function isServed(command: Command): command is Served {
  return command.route !== undefined;
}

/** One route for one command or several: the fields of a request decide which command it gives. */
function routeOf(first: Served, group: readonly Served[]): Route {
  const { method, path, summary } = first.route;
  const isWhole = path.startsWith("/api");
  const [, inPath = ""] = /\{(\w+)\}/.exec(path) ?? [];
  const fields = z.strictObject(fieldsOf(group));
  const asked = (given: Given): Served =>
    group.findLast((command) => isMeant(command, given)) ?? first;
  return route<z.ZodObject, z.ZodType<Given | undefined>>({
    name: group.map(({ name }) => name).join("Or"),
    method,
    path: isWhole ? path : `/api/sessions/{session}${path}`,
    summary,
    audience: group.every(({ route: { audience } }) => audience === "user") ? "user" : "operator",
    action: group.every(({ permission }) => permission === first.permission)
      ? first.permission
      : (given = {}) => asked(given).permission,
    ...(isWhole ? { sessionOf: ({ params }) => sessionNamedIn(inPath, params[inPath] ?? "") } : {}),
    ...(method === "post"
      ? { body: fields.safeParse({}).success ? fields.optional() : fields }
      : { query: fields }),
    answer: answerSchema(first),
    status: statuses[first.answer.kind] ?? 200,
    handle: async (call) => {
      const given = { ...call.query, ...call.body };
      return await carryOut(asked(given), given, call);
    },
  });
}

/** @throws TurnlogError `INVALID_INPUT` for a text that is not the ID of a question */
function sessionNamedIn(field: string, id: string): string {
  const session = sessionOfAsked(id);
  if (session !== "") return session;
  throw new TurnlogError(
    "INVALID_INPUT",
    `${JSON.stringify(id)} is no \`${field}\`. GET /api/approvals has those of what waits, and so has \`turnlog sessions --json\`.`,
    { details: { option: field } },
  );
}

/** What may be sent to the route: fields that not all commands have are optional. */
function fieldsOf(group: readonly Served[]): Fields {
  const each = group.map(({ parameters, route: { method, path, fixed = {} } }): Fields => ({
    ...Object.fromEntries(
      parameters
        .filter(({ name, isLocal }) => isLocal !== true && !path.includes(`{${name}}`))
        .flatMap((parameter) => Object.entries(fieldsOfOne(parameter, method))),
    ),
    ...Object.fromEntries(Object.keys(fixed).map((name) => [name, flag])),
  }));
  const all = each.flatMap((fields) => Object.entries(fields));
  return Object.fromEntries(
    all.map(([name, schema]) => [
      name,
      each.every((fields) => name in fields) ? schema : schema.exactOptional(),
    ]),
  );
}

function fieldsOfOne(
  { name, fields, schema, isOptional, isMessage }: Parameter,
  method: Route["method"],
): Fields {
  // All is text in a query.
  const sent = (field: z.ZodType): z.ZodType => {
    if (method === "post" || field.safeParse("text").success) return field;
    return field.safeParse(1).success ? numberQuery : jsonQuery.pipe(field);
  };
  if (fields !== undefined) {
    // The server says who it is, and what its tools are told.
    const { by: _, about: __, ...rest } = fields;
    return Object.fromEntries(
      Object.entries(rest).map(([key, field]) => [key, sent(field).exactOptional()]),
    );
  }
  const whole = isMessage === true ? postedMessage : sent(schema ?? z.unknown());
  return { [name]: isOptional ? whole.exactOptional() : whole };
}

function isMeant({ parameters, route: { path, fixed = {} } }: Served, given: Given): boolean {
  return (
    Object.entries(fixed).every(([name, value]) => given[name] === value) &&
    parameters.every(
      ({ name, fields, isOptional }) =>
        isOptional || fields !== undefined || path.includes(`{${name}}`) || name in given,
    )
  );
}

async function carryOut(command: Served, given: Given, call: Call): Promise<Response> {
  const { name, also, parameters, route: of } = command;
  const named = also === undefined ? undefined : given[also.option];
  let stored = also?.isSession === true ? call.newId() : undefined;
  if (also !== undefined && named !== undefined)
    stored = await call.allow(
      also.permission,
      also.isSession === true ? parseSessionId(named) : undefined,
    );
  const isNamed = also?.isSession === true && stored !== undefined;
  const own = isNamed ? { [also.option]: stored } : {};
  const args = await Promise.all(
    parameters.map((one) => argumentOf(one, of.path, { ...given, ...own }, call)),
  );
  const session = await call.open({ create: of.creates === true });
  const method: unknown = Reflect.get(session, name);
  if (typeof method !== "function") throw new Error(`A session has no method ${name}.`);
  const value: unknown = await Reflect.apply(method, session, args);
  const left = [command.permission, named === undefined ? undefined : also?.permission];
  return await answered(command, value, call, left.includes("rewind"));
}

async function argumentOf(
  { name, fields, isLocal, isMessage, isMetadata }: Parameter,
  path: string,
  given: Given,
  { params, by, sender, where, blob, request }: Call,
): Promise<unknown> {
  if (isLocal === true) return undefined;
  if (path.includes(`{${name}}`)) return params[name];
  if (fields !== undefined) {
    const key = request.headers.get("idempotency-key");
    const sent = Object.keys(fields).filter((field) => field in given);
    return {
      ...("by" in fields ? by : {}),
      ...("about" in fields ? sender : {}),
      ...("idempotencyKey" in fields && key !== null ? { idempotencyKey: key } : {}),
      ...Object.fromEntries(sent.map((field) => [field, given[field]])),
    };
  }
  if (isMessage === true) return await messageInput({ blob }, postedMessage.parse(given[name]));
  if (isMetadata === true) return ownMetadata(where, jsonObjectSchema.parse(given[name]));
  return given[name];
}

// The answers: what the session's method answered, as JSON.

const statuses: Readonly<Partial<Record<Command["answer"]["kind"], number>>> = {
  turn: 202,
  session: 201,
  "turn-in-fork": 201,
};

function answerSchema({ name, answer }: Served): z.ZodType {
  const begun = { messageId: z.string(), position: z.int() };
  switch (answer.kind) {
    case "json":
      return answer.schema;
    case "list":
      return z.object({ [name]: z.array(answer.of) });
    case "turn":
      return z.object({ ...begun, queued: z.boolean(), replaced: rewoundSchema.optional() });
    case "session":
      return z.object({ session: z.string() });
    case "turn-in-fork":
      return z.object({ session: z.string(), ...begun });
    default:
      return z.object({ position: z.int() });
  }
}

/** @param rewinds - Whether the call says what it left of the branch. */
async function answered(
  command: Served,
  value: unknown,
  { runtime, session, where, shownSession, hide }: Call,
  rewinds: boolean,
): Promise<Response> {
  const { kind } = command.answer;
  const status = statuses[kind];
  switch (kind) {
    case "json":
      return json(withoutHidden(value, hide));
    case "list":
      return json({ [command.name]: value });
    case "turn": {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the catalogue says what the method answers
      const turn = value as Turn;
      const { messageId, queued, queuePosition } = turn;
      const replaced = rewinds ? await turn.replaced : undefined;
      // The page follows the new reply: a regeneration begins at the rewind.
      const position = Math.max(queuePosition, replaced?.position ?? 0);
      return json({ messageId, queued, position, replaced: withoutHidden(replaced, hide) }, status);
    }
    case "session": {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
      const fork = value as Session;
      await claimFork({ where }, fork);
      return json({ session: shownSession(fork.id) }, status);
    }
    case "turn-in-fork": {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
      const { session: fork, turn, position } = value as Awaited<ReturnType<Session["rerun"]>>;
      await claimFork({ where }, fork);
      return json({ session: shownSession(fork.id), messageId: turn.messageId, position }, status);
    }
    default:
      return json({ position: await runtime.log.revision(session) });
  }
}

/** What a rewind left has a cost, and what was answered an input. */
function withoutHidden(value: unknown, hide: Call["hide"]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const shown = withShownQuestions(value, hide);
  return hide.includes("usage") && "usage" in shown ? { ...shown, usage: undefined } : shown;
}
