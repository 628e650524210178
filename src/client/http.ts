/**
 * Requests to a turnlog server: its address, its token, and the checks of its answers. Uses the platform's
 * `fetch` alone, so that it runs in browsers, Node and Bun.
 */

import { TurnlogError, type TurnlogErrorCode } from "../events/index.ts";

/** Options of {@link createClient}. */
export interface ClientOptions {
  /**
   * The address of the server, for instance `https://chat.example.com`. An empty text means the page's own
   * server.
   */
  readonly baseUrl: string;
  /** The server's token. A function is called before each request, for tokens that expire. */
  readonly token?: string | (() => string | Promise<string>);
  /** Default: the platform's `fetch`. A `TurnlogError` that it throws says why there is no answer. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /**
   * How many milliseconds a stream tries to reach its server again before it fails with `SERVER_UNREACHABLE`.
   * Default: 300,000.
   */
  readonly patienceMs?: number;
  /** A stream that receives nothing for this many milliseconds counts as lost. Default: 45,000. */
  readonly silenceMs?: number;
}

/** One request. Undefined values of `query` are left out, and those that are no text are JSON. */
export interface Asked {
  readonly method?: string | undefined;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** A signal for this request alone, which keeps the request alive until it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the request continues when the user leaves the page. */
  readonly keepalive?: boolean;
}

/** The version of the protocol that this client speaks, as `turnlog-protocol` of each answer names it. */
const PROTOCOL = "1";

/** A server that is about to come back, or a proxy in front of it. */
const temporary: readonly number[] = [408, 425, 429, 502, 503, 504];

const known: Readonly<Record<keyof ClientOptions, true>> = {
  baseUrl: true,
  token: true,
  fetch: true,
  patienceMs: true,
  silenceMs: true,
};

export class Http {
  readonly patienceMs: number;
  readonly silenceMs: number;
  readonly #options: ClientOptions;

  /** @throws TurnlogError `INVALID_INPUT` */
  constructor(options: ClientOptions) {
    const unknown = Object.keys(options).find((key) => !Object.hasOwn(known, key));
    if (unknown !== undefined)
      throw invalid(`\`${unknown}\` is unknown. Known here: ${Object.keys(known).join(", ")}.`);
    if (typeof options.baseUrl !== "string")
      throw invalid("`baseUrl` must be the address of a server, or an empty text.");
    this.#options = options;
    this.patienceMs = options.patienceMs ?? 300_000;
    this.silenceMs = options.silenceMs ?? 45_000;
  }

  /**
   * The answer of a request that succeeded.
   * @throws TurnlogError with the server's code; `SERVER_UNREACHABLE` without an answer, `SERVER_FAILED` if
   * something else answered
   */
  async open({
    method = "GET",
    path,
    query = {},
    body,
    headers,
    signal,
    keepalive = false,
  }: Asked): Promise<Response> {
    const { token: given, fetch: own } = this.#options;
    const token = typeof given === "function" ? await given() : given;
    const settings: RequestInit = {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      keepalive,
    };
    const request = new Request(this.#address(path, query), settings);
    // Node does not end the body of an answer whose request was collected as garbage: the signal holds it.
    signal?.addEventListener("abort", () => request, { once: true });
    let answer: Response;
    try {
      answer = await (own ?? fetch)(request);
    } catch (error) {
      signal?.throwIfAborted();
      if (TurnlogError.isInstance(error)) throw error;
      throw unreachable(`${method} ${path} got no answer.`, error);
    }
    // The other address gets no token, and a GET in place of a POST: the answer would be that of another route.
    if (answer.redirected && (!answer.ok || method !== "GET")) {
      await answer.body?.cancel();
      throw failed(
        `${method} ${path} was redirected to ${new URL(answer.url).origin}, and a redirection may lose the token and the body. Use the address to which it leads.`,
      );
    }
    if (!answer.ok) throw await refusal(answer, `${method} ${path}`);
    const version = answer.headers.get("turnlog-protocol");
    if (version !== PROTOCOL)
      throw failed(
        version === null
          ? `${method} ${path} was not answered by a turnlog server. Check \`baseUrl\` and the proxies between.`
          : `The server speaks version ${version} of the protocol, and this client speaks version ${PROTOCOL}. Use releases of the package that are closer together.`,
      );
    return answer;
  }

  /** The JSON of an answer. Its type is the server's promise. */
  async json<Answer>(asked: Asked): Promise<Answer> {
    const end = new AbortController();
    const release = whenAborted(asked.signal, () => end.abort(asked.signal?.reason));
    try {
      const answer = await this.open({ ...asked, signal: end.signal });
      assertType(answer, "application/json");
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return (await answer.json()) as Answer;
    } finally {
      release();
      // Node keeps the signal of a request for as long as the request is held, which the signal does.
      end.abort();
    }
  }

  #address(path: string, query: NonNullable<Asked["query"]>): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined)
        search.set(name, typeof value === "string" ? value : JSON.stringify(value));
    const asked = search.size === 0 ? "" : `?${search.toString()}`;
    return `${this.#options.baseUrl.replace(/\/$/, "")}${path}${asked}`;
  }
}

/** @throws TurnlogError `SERVER_FAILED` for an answer of another type */
export function assertType({ headers }: Response, mediaType: string): void {
  const type = headers.get("content-type") ?? "nothing";
  if (!type.startsWith(mediaType))
    throw failed(`The server answered with ${type} instead of ${mediaType}.`);
}

/** The error that a problem of the server describes. */
export function problemError(problem: unknown): TurnlogError {
  const { code, detail, session, position, details, status }: Readonly<Record<string, unknown>> =
    typeof problem === "object" && problem !== null ? { ...problem } : {};
  return new TurnlogError(
    // A later server may have more codes.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    typeof code === "string" ? (code as TurnlogErrorCode) : "SERVER_FAILED",
    typeof detail === "string" ? detail : "The server failed.",
    {
      ...(typeof session === "string" ? { session } : {}),
      ...(typeof position === "number" ? { position } : {}),
      details: {
        ...(typeof details === "object" ? details : {}),
        status,
      },
    },
  );
}

async function refusal(answer: Response, what: string): Promise<TurnlogError> {
  const { status, headers } = answer;
  if (headers.get("content-type")?.startsWith("application/problem+json") === true)
    return problemError(await answer.json().catch(() => undefined));
  await answer.body?.cancel();
  return new TurnlogError(
    "SERVER_FAILED",
    `${what} was answered with ${status} by something other than a turnlog server.`,
    {
      details: { status },
    },
  );
}

/** Whether the same request may succeed later. */
export function isTemporary(error: unknown): boolean {
  if (!TurnlogError.isInstance(error)) return false;
  const { status } = error.details;
  return error.code === "SERVER_UNREACHABLE" || temporary.some((one) => one === status);
}

export function unreachable(what: string, cause: unknown): TurnlogError {
  const next = "Check the address, and that the server is running.";
  return new TurnlogError("SERVER_UNREACHABLE", `${what} ${next}`, { cause });
}

function failed(message: string): TurnlogError {
  return new TurnlogError("SERVER_FAILED", message);
}

function invalid(message: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `createClient: ${message}`);
}

/**
 * Calls `tell` when the signal aborts, or immediately if it already has, until the returned function is called:
 * the signal may outlive the request. As `onAbort` of src/shared, without `Symbol.dispose`, which some browsers
 * lack.
 */
export function whenAborted(signal: AbortSignal | undefined, tell: () => void): () => void {
  if (signal?.aborted === true) tell();
  else signal?.addEventListener("abort", tell, { once: true });
  return () => {
    signal?.removeEventListener("abort", tell);
  };
}
