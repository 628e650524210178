/**
 * One route of the server. The table of routes is the source of three things: the router, the checks of
 * what clients send, and the OpenAPI description.
 */

import { z } from "zod";
import { type JsonObject, TurnlogError } from "../../events/index.ts";
import type { Runtime, Session } from "../../runtime/index.ts";
import { nearestName } from "../../validation/index.ts";
import type { StreamSettings } from "../streams/event-stream.ts";

/** What a request does, for `authorize`. */
export type ServerAction =
  | "list"
  | "read"
  | "create"
  | "send"
  | "cancel"
  | "approve"
  | "deny"
  | "answer"
  | "rewind"
  | "compact"
  | "fork"
  | "export"
  | "import"
  | "delete";

interface OpenOptions {
  readonly create?: boolean;
  /** The name of the agent of a new session, in a runtime with several. */
  readonly agent?: string | undefined;
  /** Of a new session. */
  readonly metadata?: JsonObject | undefined;
}

/** A request that may be served. */
export interface Call {
  readonly runtime: Runtime;
  readonly request: Request;
  /** The session of the path or the body; empty on routes without one. */
  readonly session: string;
  /** The parameters of the path by name. */
  readonly params: Readonly<Record<string, string>>;
  /** The name that `authorize` gave, as commands record it. */
  readonly by: { readonly by?: string };
  readonly stream: StreamSettings;
  /** The most bytes of a body. */
  readonly bodyBytes: number;
  /** Called when a streamed answer has ended. */
  readonly ended: () => void;
  /** Opens the session. @throws TurnlogError `SESSION_NOT_FOUND`, unless `create` */
  readonly open: (options?: OpenOptions) => Promise<Session>;
  /** Asks `authorize` about another action, or another session. @throws TurnlogError `FORBIDDEN` */
  readonly allow: (action: ServerAction, session?: string) => Promise<void>;
  /** The metadata of all sessions that the client may see. Undefined: `mayRead` tells for each. */
  readonly where: JsonObject | undefined;
  /** Whether the client may read another session. */
  readonly mayRead: (session: string) => Promise<boolean>;
}

/** A call with its checked query and body. */
type ParsedCall<Query, Body> = Call & { readonly query: Query; readonly body: Body };

/** What an answer of success has, for the description. */
type Answer =
  | { readonly kind: "json"; readonly schema: z.ZodType }
  | { readonly kind: "media"; readonly mediaType: string; readonly words: string };

/** What a client sent. */
interface Given {
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** A request whose query and body fit the schemas of its route. */
interface CheckedRequest {
  readonly action: ServerAction;
  /** The session that the request is about; undefined on routes over all sessions. */
  readonly session: string | undefined;
  readonly handle: (call: Call) => Promise<Response>;
}

export interface Route {
  readonly method: "get" | "post" | "delete";
  /** With `{name}` for parameters; `{session}` is a session's id. */
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodObject;
  readonly body: z.ZodType;
  readonly answer: Answer;
  /** What a request is about, before its body is read; undefined where the body says it. */
  readonly about: (
    params: Given["params"],
  ) => Pick<CheckedRequest, "action" | "session"> | undefined;
  /** @throws TurnlogError `INVALID_INPUT` */
  readonly check: (given: Given) => CheckedRequest;
}

interface Definition<Query extends z.ZodObject, Body extends z.ZodType> {
  readonly method: Route["method"];
  readonly path: string;
  readonly action: ServerAction | ((body: z.output<Body>) => ServerAction);
  readonly summary: string;
  /** Default: none is taken. */
  readonly query?: Query;
  /** Default: none is taken. */
  readonly body?: Body;
  readonly answer: z.ZodType | Extract<Answer, { readonly kind: "media" }>;
  /** The session of a request. Default: `{session}` of the path. */
  readonly sessionOf?: (given: {
    readonly params: Given["params"];
    readonly query: z.output<Query>;
    readonly body: z.output<Body>;
  }) => string | undefined;
  readonly handle: (call: ParsedCall<z.output<Query>, z.output<Body>>) => Promise<Response>;
}

/** The query of a route that takes none. */
const noQuery = z.strictObject({});
/** The body of a route that takes none. */
const noBody = z.strictObject({}).optional();

/** A route whose handler gets the types of its schemas. */
export function route<
  Query extends z.ZodObject = typeof noQuery,
  Body extends z.ZodType = typeof noBody,
>(definition: Definition<Query, Body>): Route;
export function route({
  method,
  path,
  action,
  summary,
  query = noQuery,
  body = noBody,
  answer,
  sessionOf,
  handle,
}: Definition<z.ZodObject, z.ZodType>): Route {
  const where = `${method.toUpperCase()} ${path}`;
  return {
    method,
    path,
    summary,
    query,
    body,
    answer: "kind" in answer ? answer : { kind: "json", schema: answer },
    about: ({ session }) =>
      typeof action === "function" || sessionOf !== undefined ? undefined : { action, session },
    check: (given) => {
      const checkedQuery = parsed(query, given.query, where);
      const checkedBody = parsed(body, given.body, where);
      const { params } = given;
      return {
        action: typeof action === "function" ? action(checkedBody) : action,
        session:
          sessionOf?.({ params, query: checkedQuery, body: checkedBody }) ?? params["session"],
        handle: (call) => handle({ ...call, query: checkedQuery, body: checkedBody }),
      };
    },
  };
}

/** A body that the handler reads as a stream. */
export const streamedBody: z.ZodUndefined = z.undefined();

/** An answer of JSON. */
export function json(value: unknown, status = 200): Response {
  return Response.json(value, { status });
}

/** A position or a count in a query. */
export const numberQuery: z.ZodType<number, string> = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number")
  .transform(Number);

/**
 * The parsed value.
 * @param where - The route, for the message.
 * @throws TurnlogError `INVALID_INPUT`; `details.option` has the path of the first wrong field
 */
function parsed<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  where: string,
): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = (issue?.path ?? []).map(String).join(".");
  const option = path === "" ? "body" : path;
  throw new TurnlogError("INVALID_INPUT", `${where}: ${sentence(issue, option, schema)}`, {
    cause: result.error,
    details: { option },
  });
}

function sentence(issue: z.core.$ZodIssue | undefined, option: string, schema: z.ZodType): string {
  if (issue?.code !== "unrecognized_keys")
    return `\`${option}\` is wrong: ${issue?.message ?? "it does not fit"}.`;
  const [key = ""] = issue.keys;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const nearest = nearestName(key, known);
  if (nearest !== undefined) return `\`${key}\` is unknown. Did you mean \`${nearest}\`?`;
  return `\`${key}\` is unknown.${known.length === 0 ? "" : ` Known here: ${known.join(", ")}.`}`;
}
