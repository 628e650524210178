/** The one error class of turnlog. A code never changes its meaning; a message may be reworded at any time. */

/** The kind of error, stable over releases: switch on this, never on the message. */
export type TurnlogErrorCode =
  | "INVALID_INPUT"
  | "COMMAND_REFUSED"
  | "APPROVAL_ANSWERED"
  | "CALL_ANSWERED"
  | "MESSAGE_CONFLICT"
  | "STALE"
  | "SESSION_NOT_FOUND"
  | "SESSION_CLOSED"
  | "SESSION_DELETED"
  | "SESSION_HAS_FORKS"
  | "SESSION_ELSEWHERE"
  | "SESSION_FAILED"
  | "TURN_FAILED"
  | "OUTPUT_INVALID"
  | "CALLBACK_FAILED"
  | "RUNTIME_CLOSED"
  | "SERVER_UNREACHABLE"
  | "SERVER_FAILED"
  | "AGENT_MISSING"
  | "PACKAGE_MISSING"
  | "NODE_TOO_OLD"
  | "MCP_SERVER_FAILED"
  | "MCP_TOOL_FAILED"
  | "REVISION_CONFLICT"
  | "EVENT_ID_CONFLICT"
  | "EVENT_INVALID"
  | "EVENT_TOO_NEW"
  | "KEY_MISSING"
  | "KEY_WRONG"
  | "LOG_CLOSED"
  | "LOG_NOT_FOUND"
  | "LOG_LOCKED"
  | "LOG_FOREIGN"
  | "LOG_DAMAGED"
  | "LOG_TOO_NEW"
  | "LOG_FULL"
  | "LOG_READ_ONLY"
  | "LOG_FAILED"
  | "BLOB_TOO_LARGE"
  | "BLOB_MISSING"
  | "BLOB_DAMAGED"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "ROUTE_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "REQUEST_TOO_LARGE"
  | "TOO_MANY_REQUESTS"
  | "UPGRADE_REQUIRED"
  | "CLIENT_STALLED";

/** Details of a {@link TurnlogError}. */
export interface TurnlogErrorOptions {
  readonly session?: string;
  readonly position?: number;
  /** Figures and names for programs, for instance `{ pid }` of a store's owner. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const marker = Symbol.for("turnlog.error");

/**
 * An error with a stable `code`, the session and the position concerned.
 * @example
 * try {
 *   await runtime.session("s-1", { createIfMissing: false });
 * } catch (error) {
 *   if (!TurnlogError.isInstance(error) || error.code !== "SESSION_NOT_FOUND") throw error;
 * }
 */
export class TurnlogError extends Error {
  override readonly name = "TurnlogError";
  readonly code: TurnlogErrorCode;
  // Declared only: an error of no session prints no `session: undefined`.
  declare readonly session: string | undefined;
  declare readonly position: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: TurnlogErrorCode, message: string, options: TurnlogErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.session !== undefined) this.session = options.session;
    if (options.position !== undefined) this.position = options.position;
    this.details = options.details ?? {};
    Object.defineProperty(this, marker, { value: true });
  }

  /** Whether a value is a turnlog error, also one of another copy of this package. */
  static isInstance(value: unknown): value is TurnlogError {
    return typeof value === "object" && value !== null && marker in value;
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.some((code) => code === error.code);
}

/** A rejected promise, for a method that answers with a promise and must not throw before it. */
export async function rejected(error: unknown): Promise<never> {
  throw error;
}

/** The refusal to delete a session whose events others share. */
export function heldByForks(session: string, forks: readonly string[]): TurnlogError {
  return new TurnlogError(
    "SESSION_HAS_FORKS",
    `Session ${session} was not deleted: it holds events that ${forks.join(", ")} share with it. Delete those first, or give them copies (\`forks: "copy"\`, \`--forks copy\`).`,
    { session, details: { forks } },
  );
}
