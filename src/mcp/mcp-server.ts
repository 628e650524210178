/**
 * One MCP server of a runtime. It starts when it is first needed, restarts after it died (with growing pauses),
 * and closes with the runtime. A fault of a server fails a call or its start, never a session.
 */

import { TurnlogError, cutShort } from "../events/index.ts";
import {
  optionalPackage,
  onAbort,
  withFullStop,
  after,
  DEFAULT_GRACE_MS,
  LONGEST_TIMEOUT_MS,
} from "../shared/index.ts";
import type { ListedTool, McpConnection } from "./mcp-connection.ts";
import {
  DEFAULT_CALL_TIMEOUT_MS,
  DEFAULT_START_TIMEOUT_MS,
  type McpServer,
} from "./mcp-options.ts";
import { failureMessage } from "./mcp-output.ts";
import { NotRun, type CallAnswer, type McpResult } from "./mcp-result.ts";
import type { Progress } from "@modelcontextprotocol/client";

/** Milliseconds for the answer to a probe. */
const PROBE_MS = 5000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/** Most characters of an invalid answer in an error. */
const LONGEST_QUOTE = 2000;

type Trouble = "not-started" | "not-run" | "died" | "timed-out" | "closed" | "bad-answer";

/** A call that goes on, as it reports, is waited for this many time limits long at most. */
const MOST_EXTENSIONS = 60;

export interface RunningCall {
  /** Asks the server to stop; the answer is still awaited. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: Progress) => void;
}

export class RunningServer {
  readonly name: string;
  readonly #server: McpServer;
  readonly #clock: () => number;
  readonly #graceMs: number;
  readonly #closing = new AbortController();
  readonly #starts: Backoff;
  readonly #lists: Backoff;
  #connecting: Promise<McpConnection> | undefined;
  #live: McpConnection | undefined;
  /** Lost connections that are still closing. */
  readonly #ending = new Set<Promise<void>>();
  #tools: readonly ListedTool[] | undefined;
  /** The known tools may be out of date. */
  #stale = true;
  /** Calls that run. */
  #running = 0;

  /** @param graceMs - Milliseconds for a cancelled call to end. */
  constructor(
    name: string,
    server: McpServer,
    clock: () => number,
    graceMs: number = DEFAULT_GRACE_MS,
  ) {
    this.name = name;
    this.#server = server;
    this.#clock = clock;
    this.#graceMs = graceMs;
    this.#starts = new Backoff(clock);
    this.#lists = new Backoff(clock);
  }

  /**
   * If the server does not answer, `onWarning` is called and the last known tools are used.
   * @throws TurnlogError `MCP_SERVER_FAILED` if none are known
   */
  async tools(onWarning: (error: TurnlogError) => void): Promise<readonly ListedTool[]> {
    const isKnown = !this.#stale && this.#connecting !== undefined;
    if (this.#tools !== undefined && (isKnown || this.#lists.pauseMs > 0)) return this.#tools;
    const since = this.#clock();
    try {
      this.#tools = await this.#connected(async (connection) => {
        // A change during the request sets this again. HTTP servers are always asked.
        this.#stale = this.#server.url !== undefined;
        return await connection.list(this.#startTimeoutMs);
      });
      this.#lists.succeed();
    } catch (error) {
      this.#stale = true;
      const failure = TurnlogError.isInstance(error)
        ? error
        : this.#failure("not-started", `did not say what tools it has: ${textOf(error)}`, error);
      if (this.#tools === undefined) {
        // Of no use: it is started again, after a pause.
        if (failure !== error) this.#drop(this.#live, this.#clock() - since);
        throw failure;
      }
      this.#lists.fail(this.#clock() - since);
      // Its session may be the fault, and nobody else needs it.
      if (this.#server.url !== undefined && this.#running === 0 && this.#live !== undefined)
        this.#part(this.#live);
      onWarning(failure);
    }
    return this.#tools;
  }

  /** @throws TurnlogError `MCP_TOOL_FAILED`, `MCP_SERVER_FAILED` */
  async call(
    tool: string,
    input: Record<string, unknown>,
    running: RunningCall = {},
  ): Promise<unknown> {
    running.signal?.throwIfAborted();
    try {
      const ask = async (connection: McpConnection): Promise<CallAnswer> =>
        await this.#answer(connection, tool, input, running);
      return this.#checked(tool, await this.#connected(ask));
    } catch (error) {
      if (!(error instanceof NotRun)) throw error;
      throw this.#failure(
        "not-run",
        `refused ${tool}: ${withFullStop(error.message)} It was not run.`,
      );
    }
  }

  /** Resolves when its processes have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    const connecting = this.#connecting;
    this.#connecting = undefined;
    await connecting?.then(
      (connection) => connection.close(),
      () => {},
    );
    await Promise.all(this.#ending);
  }

  get #startTimeoutMs(): number {
    // The client uses one timer, which cannot be longer.
    return Math.min(this.#server.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS, LONGEST_TIMEOUT_MS);
  }

  /** What `use` returns; once more on a new session if the server has forgotten this one. */
  async #connected<Result>(use: (connection: McpConnection) => Promise<Result>): Promise<Result> {
    const connection = await this.#connection();
    try {
      return await use(connection);
    } catch (error) {
      if (!(error instanceof NotRun)) throw error;
      if (error.why === "unreachable") this.#drop(connection);
      if (error.why !== "expired") throw error;
      this.#part(connection);
      return await use(await this.#connection());
    }
  }

  async #answer(
    connection: McpConnection,
    tool: string,
    input: Record<string, unknown>,
    { signal, onProgress }: RunningCall,
  ): Promise<CallAnswer> {
    const { callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS } = this.#server;
    let end: string | undefined;
    const abandon = (why: string) => (): void => {
      end ??= why;
      connection.abandon(input, why);
    };
    this.#running += 1;
    using limit = new CallLimit(
      callTimeoutMs,
      abandon(`did not answer ${tool} within ${callTimeoutMs} ms`),
    );
    const cancel = (): void => {
      connection.cancel(input);
      // The runtime's own wait ends first.
      limit.shorten(2 * this.#graceMs, abandon(`was asked to stop ${tool} and did not answer`));
    };
    using _ = onAbort(signal, cancel);
    try {
      const answer = await connection.call({
        tool,
        input,
        onProgress: (progress) => {
          limit.extend();
          onProgress?.(progress);
        },
      });
      this.#starts.succeed();
      return answer;
    } catch (error) {
      if (error instanceof NotRun) throw error;
      if (end === undefined) throw await this.#unanswered(connection, tool, error);
      // One that was asked to stop may take its time.
      if (signal?.aborted !== true) await this.#probe(connection);
      throw this.#failure("timed-out", `${end}. ${UNKNOWN_OUTCOME}`, error);
    } finally {
      this.#running -= 1;
    }
  }

  async #connection(): Promise<McpConnection> {
    if (this.#closing.signal.aborted) throw this.#failure("closed", "was closed");
    if (this.#connecting === undefined) {
      const { pauseMs, failures } = this.#starts;
      if (pauseMs > 0) {
        const seconds = Math.ceil(pauseMs / 1000);
        const times = `has failed ${failures} times in a row`;
        const what = `${times} and is not started again for another ${seconds} s`;
        throw this.#failure("not-started", what);
      }
      const connecting = this.#connect();
      this.#connecting = connecting;
      // The waiting callers get the error.
      connecting.catch(() => {
        if (this.#connecting === connecting) this.#connecting = undefined;
      });
    }
    return await this.#connecting;
  }

  async #connect(): Promise<McpConnection> {
    const { connect } = await optionalPackage(
      "@modelcontextprotocol/client",
      "An MCP server",
      async () => await import("./mcp-connection.ts"),
    );
    let connection: McpConnection | undefined;
    const since = this.#clock();
    try {
      connection = await connect({
        server: this.#server,
        timeoutMs: this.#startTimeoutMs,
        signal: this.#closing.signal,
        onEnd: () => {
          this.#drop(connection);
        },
        onToolsChanged: () => {
          this.#stale = true;
        },
      });
      this.#live = connection;
      this.#stale = true;
      return connection;
    } catch (error) {
      this.#starts.fail(this.#clock() - since);
      throw this.#failure("not-started", `could not be started: ${textOf(error)}`, error);
    }
  }

  /** The next call starts the server again, after repeated failures only after a pause. */
  #drop(connection: McpConnection | undefined, spentMs = 0): void {
    if (connection !== undefined && this.#part(connection)) this.#starts.fail(spentMs);
  }

  /** Whether it was the present connection: another one may begin at once. */
  #part(connection: McpConnection): boolean {
    if (this.#live !== connection) return false;
    this.#live = undefined;
    this.#connecting = undefined;
    this.#stale = true;
    const end = connection.close().catch(() => {});
    this.#ending.add(end);
    void end.then(() => this.#ending.delete(end));
    return true;
  }

  /** The error of a call without an answer; a probe decides whether the server is lost. */
  async #unanswered(
    connection: McpConnection,
    tool: string,
    error: unknown,
  ): Promise<TurnlogError> {
    const reason = textOf(error);
    const rest = `while it ran ${tool}. ${UNKNOWN_OUTCOME}`;
    const isClosing = this.#closing.signal.aborted;
    if (!isClosing) await this.#probe(connection);
    if (isClosing || this.#closing.signal.aborted) {
      return this.#failure("closed", `was closed ${rest}`, error, connection);
    }
    return this.#live === connection
      ? this.#failure(
          "bad-answer",
          `gave no answer to ${tool}: ${withFullStop(reason)} ${UNKNOWN_OUTCOME}`,
          error,
        )
      : this.#failure("died", `was lost (${reason}) ${rest}`, error, connection);
  }

  /** A busy server continues; one that answers nothing is ended. */
  async #probe(connection: McpConnection): Promise<void> {
    const { callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS } = this.#server;
    try {
      await connection.list(Math.min(PROBE_MS, callTimeoutMs));
    } catch (error) {
      void error;
      this.#drop(connection);
    }
  }

  #checked(tool: string, answer: CallAnswer): unknown {
    switch (answer.kind) {
      case "refused":
        throw this.#toolFailure(tool, answer.why, {});
      case "broken": {
        const json = JSON.stringify(answer.answer);
        const quote = cutShort(json, LONGEST_QUOTE);
        const what = `answered to ${tool}, and not with the result of a tool`;
        throw this.#failure("bad-answer", `${what} (${answer.why}): ${quote} ${UNKNOWN_OUTCOME}`);
      }
      case "result": {
        const { result } = answer;
        if (result.isError === true) throw this.#toolFailure(tool, failureMessage(result), result);
        return result;
      }
    }
  }

  #toolFailure(tool: string, message: string, result: McpResult): TurnlogError {
    const details = { server: this.name, tool, result };
    return new TurnlogError("MCP_TOOL_FAILED", message, { details });
  }

  #failure(
    trouble: Trouble,
    what: string,
    cause?: unknown,
    connection?: McpConnection,
  ): TurnlogError {
    const details = { server: this.name, trouble };
    const output = connection?.lastOutput ?? "";
    const quote = output === "" ? "" : ` It said last: ${output}`;
    return new TurnlogError(
      "MCP_SERVER_FAILED",
      `The MCP server ${this.name} ${withFullStop(what)}${quote}`,
      { details, cause },
    );
  }
}

const UNKNOWN_OUTCOME = "The call may have taken effect. Check before you repeat it.";

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The time of a call until it is abandoned. */
class CallLimit implements Disposable {
  readonly #ms: number;
  readonly #due: () => void;
  #timer: Disposable;
  #grace: Disposable | undefined;
  #extensions = 0;

  constructor(ms: number, due: () => void) {
    this.#ms = ms;
    this.#due = due;
    this.#timer = after(ms, due);
  }

  /** It begins again: the server reports that it is at it. */
  extend(): void {
    this.#extensions += 1;
    if (this.#extensions > MOST_EXTENSIONS) return;
    this.#timer[Symbol.dispose]();
    this.#timer = after(this.#ms, this.#due);
  }

  /** It ends sooner. */
  shorten(ms: number, due: () => void): void {
    this.#grace ??= after(ms, due, false);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#grace?.[Symbol.dispose]();
  }
}

/** Pauses between tries that fail: from the second failure on, and at least as long as the last one took. */
class Backoff {
  readonly #clock: () => number;
  #failures = 0;
  #until = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get failures(): number {
    return this.#failures;
  }

  get pauseMs(): number {
    return this.#until - this.#clock();
  }

  fail(spentMs: number): void {
    this.#failures += 1;
    const grown = this.#failures < 2 ? 0 : FIRST_PAUSE_MS * 2 ** (this.#failures - 2);
    this.#until = this.#clock() + Math.min(LONGEST_PAUSE_MS, Math.max(grown, spentMs));
  }

  succeed(): void {
    this.#failures = 0;
  }
}
