/** The options of a server, their defaults and their checks. */

import type { z } from "zod";
import {
  amount,
  check,
  code,
  flag,
  many,
  milliseconds,
  name,
  off,
  optionsOf,
  several,
  thing,
} from "../validation/index.ts";
import { TurnlogError, type JsonObject } from "../events/index.ts";
import type { RequestedTurn } from "./route/requested-turn.ts";
import { isLoopbackName, newToken } from "./security/access.ts";
import type { Permission } from "../commands/index.ts";
import type { Audience } from "./route/route.ts";
import { hiddenSchema } from "../runtime/index.ts";
import type { Failure, Hidden } from "../ui/index.ts";

/** Limits on what clients may send and keep open. */
interface ServerLimits {
  /** The most bytes of a body. Default: 25 MB (25,000,000). Longer bodies are refused with 413. */
  readonly bodyBytes?: number;
  /** The most bytes of a WebSocket frame. Default: 1 MB (1,000,000). */
  readonly frameBytes?: number;
  /**
   * Answers that one client may have open at the same time, streams included. Default: 2,000. Further requests
   * are refused with 429.
   */
  readonly openAnswers?: number;
  /** Requests that one client may send per minute. Default: 12,000. Further requests are refused with 429. */
  readonly requestsPerMinute?: number;
}

/** What a request is about to do. */
interface RequestedAction {
  readonly action: Permission;
  /** Absent on routes that concern all sessions. */
  readonly session?: string;
}

/**
 * Whether a request may do it, and for whom. `undefined` and `null` say that nobody is logged in (401), `false` that
 * this client may not (403).
 */
export type Authorization = boolean | Granted | null | undefined;

/** Who the client is, and what it may see. */
export interface Granted {
  /**
   * The name of the actor: recorded with messages, approvals, outputs of clients, rewinds and deletions, and limits
   * are counted by it.
   */
  readonly actor?: string;
  /**
   * The tenant of the client, which begins with a letter or a digit. Ids of sessions are the tenant's own: two tenants
   * may use the same id, and nobody learns of another's. The store has session `trip` of the tenant `acme` as
   * `acme/trip`, with the metadata `{ tenant: "acme" }`.
   */
  readonly tenant?: string;
  /**
   * Metadata of the sessions that the client may see, such as `{ user: "ann" }`. Lists contain only those sessions,
   * with a single call of `authorize`; other sessions answer as if they did not exist (404); a session that the
   * client creates gets these metadata.
   */
  readonly where?: JsonObject;
  /**
   * What the turns of the client's messages know about it, such as `{ locale: "de" }`: for `contextFor` and the
   * tools, as `about.context` of `session.send`, and recorded with each message.
   */
  readonly context?: JsonObject;
  /**
   * `user`: a page of an end user, without raw events, prompts, states and exports, and with the words of failures
   * masked. `operator`: everything, as the studio and `turnlog --server` need it. Default: `user`.
   */
  readonly audience?: Audience;
}

/** What clients of the audience `user` are shown. */
interface UserView {
  /**
   * What they do not see of replies, lists and figures. Without the data of its tools (`tool-data`), a page can
   * neither show what it approves nor run a tool itself. Default: `["usage", "model"]`.
   */
  readonly hide?: readonly Hidden[];
  /**
   * What they read of a failure of a turn or a tool. Undefined: `An error occurred. Reference: <session>@<position>.`,
   * the place of the failure in the log. It must always answer the same for a failure.
   */
  readonly errorText?: (failure: Failure) => string | undefined;
}

/** An entry for the request log. */
interface RequestEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Milliseconds until the answer began. */
  readonly ms: number;
  readonly session?: string;
  readonly actor?: string;
  /** The code of a refusal. */
  readonly code?: string;
  /** What the client was told in place of the error. */
  readonly reference?: string;
}

/** About an error that is not the client's. */
interface ErrorAbout {
  /** What the client was told in place of the error. */
  readonly reference?: string;
}

/**
 * Options of {@link createServer}.
 * @example
 * const server = createServer(runtime, {
 *   token: false,
 *   authorize: async (request) => {
 *     const user = await userOf(request);
 *     return user === undefined ? undefined : { actor: user, tenant: "acme", where: { user } };
 *   },
 * });
 */
export interface ServerOptions {
  /**
   * The token that each request must send as `Authorization: Bearer <token>`. Default: a new one
   * (`server.token`). `false` means no token, which requires `authorize` or a server that only this machine can
   * reach.
   */
  readonly token?: string | false;
  /**
   * Host names under which clients reach the server. Default: those of this machine (`localhost`, `127.0.0.1`,
   * `[::1]`).
   */
  readonly hosts?: readonly string[];
  /** Origins of other sites whose pages may use the server (CORS). Default: none. */
  readonly origins?: readonly string[];
  /** Whether pages of `origins` may send their cookies. Default: false. */
  readonly credentials?: boolean;
  /**
   * Headers that pages of `origins` may send besides those of the protocol, such as `x-csrf-token`. Default: none.
   */
  readonly allowHeaders?: readonly string[];
  /**
   * Decides on each request by the accounts of your application. It is called after the token was checked, and for a
   * stream again while it is open. The route reads the body of the request, so to look at the body, read
   * `request.clone()`.
   * @returns who the client is and what it may see; `undefined` if nobody is logged in (401), `false` to refuse (403)
   */
  readonly authorize?: (
    request: Request,
    requested: RequestedAction,
  ) => Authorization | Promise<Authorization>;
  /** What clients of the audience `user` are shown. */
  readonly users?: UserView;
  /**
   * Reads the fields that a page sends with a message besides those of the AI SDK, as by `sendMessage(message,
   * { body })`. What it returns is recorded with the message, so the turn has it in every process and after a
   * restart. Default: such fields are refused.
   * @param body - The fields of the page: check them, and take nothing about the user from them
   * @param permission - What `authorize` answered
   * @example
   * const server = createServer(runtime, {
   *   request: ({ style }) => ({ options: { style: style === "brief" ? "brief" : "full" } }),
   * });
   */
  readonly request?: (
    body: Readonly<Record<string, unknown>>,
    permission: Granted,
  ) => RequestedTurn | Promise<RequestedTurn>;
  readonly limits?: ServerLimits;
  /**
   * Whether the server serves the studio at `/`. `read-only`: clients can read sessions and change nothing.
   * Default: false.
   */
  readonly studio?: boolean | "read-only";
  /** Milliseconds after which a comment is sent on a quiet stream. Default: 15,000. */
  readonly heartbeatMs?: number;
  /** Milliseconds after which a client that reads nothing from its stream is dropped. Default: 30,000. */
  readonly stallMs?: number;
  /** Called once for each request, when its answer begins. */
  readonly onRequest?: (entry: RequestEntry) => void;
  /** Called with errors that are not the client's. Default: `process.emitWarning`. */
  readonly onError?: (error: unknown, about?: ErrorAbout) => void;
}

/** Options with their defaults. */
export interface ServerSettings {
  readonly token: string | undefined;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly credentials: boolean;
  readonly allowHeaders: readonly string[];
  readonly authorize: NonNullable<ServerOptions["authorize"]> | undefined;
  readonly users: Pick<UserView, "errorText"> & Required<Pick<UserView, "hide">>;
  readonly request: ServerOptions["request"];
  readonly limits: Required<ServerLimits>;
  readonly studio: boolean;
  readonly isReadOnly: boolean;
  readonly heartbeatMs: number;
  readonly stallMs: number;
  readonly onRequest: (entry: RequestEntry) => void;
  readonly onError: (error: unknown, about?: ErrorAbout) => void;
}

const names = thing<readonly string[]>(
  "a list of texts that are not empty",
  (value) => Array.isArray(value) && value.every((one) => typeof one === "string" && one !== ""),
);

/** The checks of the options, for {@link createServer} and `serveNode`. */
export const serverFields: Readonly<Record<keyof ServerOptions, z.ZodType>> = {
  token: off(name),
  hosts: names,
  origins: names,
  credentials: flag,
  allowHeaders: names,
  authorize: code,
  users: optionsOf<UserView>({ hide: hiddenSchema, errorText: code }, {}),
  request: code,
  limits: optionsOf<ServerLimits>(
    { bodyBytes: amount, frameBytes: amount, openAnswers: several, requestsPerMinute: many },
    {},
  ),
  studio: thing(
    'true, false or "read-only"',
    (value) => typeof value === "boolean" || value === "read-only",
  ),
  heartbeatMs: milliseconds,
  stallMs: milliseconds,
  onRequest: code,
  onError: code,
};

const serverSchema = optionsOf<ServerOptions>(serverFields, {});

/** @throws TurnlogError `INVALID_INPUT` */
export function serverSettings(options: ServerOptions): ServerSettings {
  check(serverSchema, options, "createServer", { name: "options" });
  const { token = newToken(), hosts = ["localhost", "127.0.0.1", "[::1]"], authorize } = options;
  if (token === false && authorize === undefined && !hosts.every(isLoopback)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      "createServer: `token: false` lets in everybody whom `hosts` lets in. Set `authorize`, or a token.",
      { details: { option: "token" } },
    );
  }
  const { origins = [], credentials = false, allowHeaders = [] } = options;
  if (origins.length === 0 && (credentials || allowHeaders.length > 0)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      "createServer: `credentials` and `allowHeaders` are for pages of other sites, and `origins` names none.",
      { details: { option: "origins" } },
    );
  }
  return {
    token: token === false ? undefined : token,
    hosts,
    origins,
    credentials,
    allowHeaders,
    authorize,
    users: { hide: ["usage", "model"], ...options.users },
    request: options.request,
    limits: {
      bodyBytes: 25_000_000,
      frameBytes: 1_000_000,
      openAnswers: 2_000,
      requestsPerMinute: 12_000,
      ...options.limits,
    },
    studio: options.studio !== undefined && options.studio !== false,
    isReadOnly: options.studio === "read-only",
    heartbeatMs: options.heartbeatMs ?? 15_000,
    stallMs: options.stallMs ?? 30_000,
    onRequest: unlessThrown("onRequest", options.onRequest ?? (() => {}), () => {}),
    onError: unlessThrown("onError", options.onError ?? warn, warn),
  };
}

const warn: ServerSettings["onError"] = (error, { reference } = {}) => {
  if (reference === undefined) process.emitWarning(error instanceof Error ? error : String(error));
  else process.emitWarning(`${reference}: ${String(error)}`);
};

/** An error of a callback must not fail the request that it reports on. */
function unlessThrown<Given extends readonly unknown[]>(
  name: string,
  callback: (...given: Given) => void,
  instead: (...given: Given) => void,
): (...given: Given) => void {
  return (...given) => {
    try {
      callback(...given);
    } catch (thrown) {
      process.emitWarning(`\`${name}\` threw: ${String(thrown)}`);
      instead(...given);
    }
  };
}

function isLoopback(host: string): boolean {
  return isLoopbackName(URL.parse(`http://${host}`)?.hostname ?? host);
}
