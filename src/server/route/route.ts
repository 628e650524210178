/**
 * One route of the server. The table of routes is the source of three things: the router, the checks of
 * what clients send, and the OpenAPI description.
 */

import { z } from "zod";
import type { Permission, SendOptions } from "../../commands/index.ts";
import { type JsonObject, jsonSchema, TurnlogError } from "../../events/index.ts";
import type { Runtime, Session } from "../../runtime/index.ts";
import { bothMetadata, differentKey } from "../../state/index.ts";
import { invalidInput } from "../../validation/index.ts";
import type { Hidden, UIOptions } from "../../ui/index.ts";
import type { Problem } from "../problems/problem.ts";
import type { StreamSettings } from "../streams/event-stream.ts";
import type { RequestedTurn } from "./requested-turn.ts";
import type { Gate } from "../streams/permitted-events.ts";

/** A HEAD, answered as a GET: hono drops the body of a HEAD without an end, so its stream would stay open. */
export class HeadRequest extends Request {
  constructor({ url, headers, signal }: Request) {
    super(url, { headers, signal });
  }
}

/** Whom an answer is for: the page of an end user, or who runs the agent. */
export type Audience = "user" | "operator";

interface OpenOptions {
  readonly create?: boolean;
  /** The name of the agent of a new session, in a runtime with several. */
  readonly agent?: string | undefined;
  /** Of a new session. */
  readonly metadata?: JsonObject | undefined;
  /** The id in the store, where the client gives none. */
  readonly id?: string | undefined;
}

/** A request that may be served. */
export interface Call {
  readonly runtime: Runtime;
  readonly request: Request;
  /** The session of the path or the body, by its id in the store; empty on routes without one. */
  readonly session: string;
  /** The id of a session as the client knows it. */
  readonly shownSession: (stored: string) => string;
  /** An id in the store for a session of the client's tenant; undefined without one: the runtime makes it. */
  readonly newId: () => string | undefined;
  /** The beginning of ids in the store, of the beginning of ids as the client knows them. */
  readonly storedPrefix: (prefix: string) => string;
  readonly audience: Audience;
  /** What the client sees of a session's messages. */
  readonly ui: UIOptions;
  /** Figures and names that the client does not see. */
  readonly hide: readonly Hidden[];
  /** The parameters of the path by name. */
  readonly params: Readonly<Record<string, string>>;
  /** The name that `authorize` gave, as commands record it. */
  readonly by: { readonly by?: string };
  /** What a message of the client records about it. */
  readonly sender: Pick<SendOptions, "by" | "about">;
  readonly stream: StreamSettings;
  /** The most bytes of a body. */
  readonly bodyBytes: number;
  /** Called when a streamed answer has ended. */
  readonly ended: () => void;
  /** Opens the session. @throws TurnlogError `SESSION_NOT_FOUND`, unless `create` */
  readonly open: (options?: OpenOptions) => Promise<Session>;
  /**
   * Asks `authorize` about another action, or another session by the id that the client gave.
   * @returns the id in the store
   * @throws TurnlogError `FORBIDDEN`, `SESSION_NOT_FOUND`
   */
  readonly allow: (action: Permission, session?: string) => Promise<string>;
  /** Asks it again and again while a stream of the session is open. */
  readonly gate: (action: Permission) => Gate;
  /**
   * What the server's option `request` makes of fields of the application.
   * @param known - The fields of the route
   * @throws TurnlogError `INVALID_INPUT` for fields that nothing reads; `CALLBACK_FAILED`
   */
  readonly turnOf: (
    own: Readonly<Record<string, unknown>>,
    known: readonly string[],
  ) => Promise<RequestedTurn>;
  /** The metadata of all sessions that the client may see. Undefined: `may` tells for each. */
  readonly where: JsonObject | undefined;
  /** Whether the client learns that a session was deleted. */
  readonly seesDeleted: boolean;
  /** A file that a session refers to, if the client may read that session. @throws TurnlogError `BLOB_MISSING` */
  readonly blob: (session: string, digest: string) => Promise<Uint8Array>;
  /** Whether the client may do that to another session, by its id in the store. */
  readonly may: (action: Permission, session: string) => Promise<boolean>;
  /** An error as the client may read it. */
  readonly problem: (error: unknown) => Problem;
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
  readonly action: Permission;
  /** The session that the request is about; undefined on routes over all sessions. */
  readonly session: string | undefined;
  readonly handle: (call: Call) => Promise<Response>;
}

export interface Route {
  /** Whom it is for. An operator may use the routes for users too. */
  readonly audience: Audience;
  /** What a session that does not exist answers, where that is no error. */
  readonly absent: (() => Response) | undefined;
  /** Unique: the `operationId` of the description. */
  readonly name: string;
  readonly method: "get" | "post" | "delete";
  /** With `{name}` for parameters; `{session}` is a session's id. */
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodObject;
  readonly body: z.ZodType;
  /** Whether the body is JSON with fields. */
  readonly takesBody: boolean;
  readonly answer: Answer;
  /** The status of a success. */
  readonly status: number;
  /** What a request is about, before its body is read; undefined where the body says it. */
  readonly about: (
    params: Given["params"],
  ) => Pick<CheckedRequest, "action" | "session"> | undefined;
  /** @throws TurnlogError `INVALID_INPUT` */
  readonly check: (given: Given) => CheckedRequest;
}

interface Definition<Query extends z.ZodObject, Body extends z.ZodType> {
  readonly name: string;
  readonly method: Route["method"];
  readonly path: string;
  readonly action: Permission | ((body: z.output<Body>) => Permission);
  /** Default: `operator`. */
  readonly audience?: Audience;
  /** Default: 404. */
  readonly absent?: () => Response;
  readonly summary: string;
  /** Default: none is taken. */
  readonly query?: Query;
  /** Default: none is taken. */
  readonly body?: Body;
  readonly answer: z.ZodType | Extract<Answer, { readonly kind: "media" }>;
  /** Default: 200. */
  readonly status?: number;
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
  name,
  method,
  path,
  action,
  audience = "operator",
  absent,
  summary,
  query = noQuery,
  body = noBody,
  answer,
  status = 200,
  sessionOf,
  handle,
}: Definition<z.ZodObject, z.ZodType>): Route {
  const where = `${method.toUpperCase()} ${path}`;
  return {
    name,
    method,
    path,
    audience,
    absent,
    summary,
    status,
    query,
    body,
    takesBody: body !== noBody && body !== streamedBody,
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
  .regex(/^\d{1,15}$/, "a whole number")
  .transform(Number);

/** A JSON value in a query, for instance `{"userId":"u-1"}`. */
export const jsonQuery: z.ZodType<unknown, string> = z.string().transform((text, context) => {
  try {
    return jsonSchema.parse(JSON.parse(text));
  } catch {
    context.addIssue({ code: "custom", message: "a JSON value" });
    return z.NEVER;
  }
});

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
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw invalidInput({ schema, given, error, who: where, whole: "body" });
}

/**
 * The metadata that a client gives a session: its own, and those that its permission demands.
 * @throws TurnlogError `FORBIDDEN` if they contradict each other
 */
export function ownMetadata(
  where: JsonObject | undefined,
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  if (where === undefined) return metadata;
  const both = bothMetadata(metadata, where);
  if (both !== undefined) return both;
  throw new TurnlogError("FORBIDDEN", "You may not give a session this metadata.");
}

/** Gives a session that the client has forked the metadata of its own: an earlier position may have those of another. */
export async function claimFork({ where }: Pick<Call, "where">, fork: Session): Promise<void> {
  if (where === undefined) return;
  const { metadata } = (await fork.view()).summary;
  if (differentKey(metadata, where) !== undefined)
    await fork.setMetadata({ ...metadata, ...where });
}
