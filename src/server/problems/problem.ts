/** Makes `application/problem+json` of an error. Used for every answer that is not a success. */

import { randomBytes } from "node:crypto";
import {
  TurnlogError,
  type JsonValue,
  type TurnlogErrorCode,
  defined,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";
import { maskedText } from "../../ui/index.ts";

/** An error as an answer: RFC 9457 with the code of {@link TurnlogError}. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly code: TurnlogErrorCode;
  /** The message of the error. */
  readonly detail: string;
  readonly session?: string;
  readonly position?: number;
  readonly details?: JsonValue;
  /** Of a failure whose words the client may not read: the operator finds it by this. */
  readonly reference?: string;
}

/** Who reads a problem. */
export interface Reader {
  /** An end user reads no more of a failure than its reference. */
  readonly isOperator: boolean;
  /** A text with ids of sessions as the reader knows them. */
  readonly shown: (text: string) => string;
}

export const operator: Reader = { isOperator: true, shown: (text) => text };

const statuses: Readonly<Record<TurnlogErrorCode, number>> = {
  INVALID_INPUT: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  ROUTE_NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  BLOB_MISSING: 404,
  LOG_NOT_FOUND: 404,
  COMMAND_REFUSED: 409,
  APPROVAL_ANSWERED: 409,
  CALL_ANSWERED: 409,
  MESSAGE_CONFLICT: 409,
  STALE: 409,
  SESSION_CLOSED: 409,
  SESSION_HAS_FORKS: 409,
  CLIENT_STALLED: 408,
  REVISION_CONFLICT: 409,
  EVENT_ID_CONFLICT: 409,
  SESSION_DELETED: 410,
  REQUEST_TOO_LARGE: 413,
  BLOB_TOO_LARGE: 413,
  EVENT_INVALID: 422,
  EVENT_TOO_NEW: 422,
  UPGRADE_REQUIRED: 426,
  TOO_MANY_REQUESTS: 429,
  TURN_FAILED: 502,
  OUTPUT_INVALID: 502,
  MCP_SERVER_FAILED: 502,
  MCP_TOOL_FAILED: 502,
  SESSION_ELSEWHERE: 503,
  SESSION_FAILED: 503,
  RUNTIME_CLOSED: 503,
  LOG_CLOSED: 503,
  LOG_LOCKED: 503,
  LOG_FULL: 507,
  AGENT_MISSING: 500,
  CALLBACK_FAILED: 500,
  PACKAGE_MISSING: 500,
  NODE_TOO_OLD: 500,
  KEY_MISSING: 500,
  KEY_WRONG: 500,
  LOG_FOREIGN: 500,
  LOG_DAMAGED: 500,
  LOG_TOO_NEW: 500,
  LOG_READ_ONLY: 500,
  LOG_FAILED: 500,
  BLOB_DAMAGED: 500,
  SERVER_FAILED: 500,
  SERVER_UNREACHABLE: 502,
};

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  426: "Upgrade Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  507: "Insufficient Storage",
};

/** Any thrown value as a problem. Errors of other classes keep their text on the server. */
export function problemOf(error: unknown, reader: Reader = operator): Problem {
  if (!TurnlogError.isInstance(error)) {
    const reference = reader.isOperator ? undefined : newReference();
    return {
      type: "about:blank",
      title: "Internal Server Error",
      status: 500,
      code: "SERVER_FAILED",
      detail:
        reference === undefined
          ? "The server failed. Its log has the error."
          : maskedText(reference),
      ...defined({ reference }),
    };
  }
  const { code, message, session, position, details } = error;
  const status = isRefusedMedia(error) ? 415 : statuses[code];
  const about = {
    type: "about:blank",
    title: titles[status] ?? "Error",
    status,
    code,
    ...defined({ session: session && reader.shown(session), position }),
  } as const;
  if (status >= 500 && !reader.isOperator) {
    const isLogged = session !== undefined && position !== undefined;
    const reference = isLogged ? `${session}@${position}` : newReference();
    return { ...about, detail: maskedText(reference), reference };
  }
  const detail = reader.shown(message);
  return {
    ...about,
    detail,
    ...(Object.keys(details).length === 0 ? {} : { details: toJson(details) }),
  };
}

/** Whether `onError` reports it. A closing server is no fault, and the log says how a turn failed. */
export function isFault({ status, code }: Problem): boolean {
  return status >= 500 && code !== "TURN_FAILED" && code !== "RUNTIME_CLOSED";
}

function newReference(): string {
  return randomBytes(6).toString("hex");
}

/** The answer for an error. */
export function problemResponse(error: unknown, problem: Problem = problemOf(error)): Response {
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (problem.status === 401) headers.set("www-authenticate", "Bearer");
  if (TurnlogError.isInstance(error) && problem.status === 405)
    headers.set("allow", String(error.details["allow"]));
  if (problem.status === 429) headers.set("retry-after", retryAfter(error));
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

function retryAfter(error: unknown): string {
  const seconds = TurnlogError.isInstance(error) ? error.details["retryAfterSeconds"] : undefined;
  return typeof seconds === "number" ? String(Math.max(1, Math.ceil(seconds))) : "1";
}

/** The error for a body that is not JSON. A form on another page can post anything but JSON. */
export function refusedMedia(mediaType: string | null): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `The body must be JSON, with \`content-type: application/json\`, not ${JSON.stringify(mediaType ?? "")}.`,
    { details: { option: "content-type" } },
  );
}

function isRefusedMedia({ code, details }: TurnlogError): boolean {
  return code === "INVALID_INPUT" && details["option"] === "content-type";
}

const refusals: ReadonlySet<string> = new Set(["UNAUTHORIZED", "FORBIDDEN", "SESSION_NOT_FOUND"]);

/** Whether the client may not make the request, or may not see the session. */
export function isRefusal(error: unknown): boolean {
  return TurnlogError.isInstance(error) && refusals.has(error.code);
}
