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
import type { CallAnswer, McpResult } from "./mcp-result.ts";

/** Milliseconds for the answer to a probe. */
const PROBE_MS = 5000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/** Most characters of an invalid answer in an error. */
const LONGEST_QUOTE = 2000;

type Trouble = "not-started" | "died" | "timed-out" | "closed" | "bad-answer";

export class RunningServer {
  readonly name: string;
  readonly #server: McpServer;
  readonly #clock: () => number;
  readonly #graceMs: number;
  readonly #closing = new AbortController();
  #connecting: Promise<McpConnection> | undefined;
  #live: McpConnection | undefined;
  /** Lost connections that are still closing. */
  readonly #ending = new Set<Promise<void>>();
  #tools: readonly ListedTool[] | undefined;
  /** The known tools may be out of date. */
  #stale = true;
  /** Failed starts and deaths since the last answered call. */
  #failures = 0;
  #pausedUntil = 0;

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
  }

  /**
   * If the server does not answer, `onWarning` is called and the last known tools are used.
   * @throws TurnlogError `MCP_SERVER_FAILED` if none are known
   */
  async tools(onWarning: (error: TurnlogError) => void): Promise<readonly ListedTool[]> {
    if (!this.#stale && this.#connecting !== undefined) return this.#tools ?? [];
    try {
      const connection = await this.#connection();
      // A change during the request sets this again. HTTP servers are always asked.
      this.#stale = this.#server.url !== undefined;
      this.#tools = await connection.list(this.#startTimeoutMs);
    } catch (error) {
      this.#stale = true;
      const failure = TurnlogError.isInstance(error)
        ? error
        : this.#failure("not-started", `did not say what tools it has: ${textOf(error)}`, error);
      if (this.#tools === undefined) throw failure;
      onWarning(failure);
    }
    return this.#tools;
  }

  /**
   * `signal` asks the server to stop; the call still waits for its answer, and the caller decides when
   * the outcome counts as unknown. @throws TurnlogError `MCP_TOOL_FAILED`, `MCP_SERVER_FAILED`
   */
  async call(tool: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    const connection = await this.#connection();
    const { callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS } = this.#server;
    const late = new AbortController();
    using _ = after(callTimeoutMs, () => {
      late.abort();
    });
    try {
      const answer = await this.#answer(connection, tool, input, late.signal, signal);
      this.#failures = 0;
      return this.#checked(tool, answer);
    } catch (error) {
      if (TurnlogError.isInstance(error)) throw error;
      if (late.signal.aborted) {
        await this.#probe(connection);
        const what = `did not answer ${tool} within ${callTimeoutMs} ms`;
        throw this.#failure("timed-out", `${what}. ${UNKNOWN_OUTCOME}`, error);
      }
      throw await this.#unanswered(connection, tool, error);
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

  async #answer(
    connection: McpConnection,
    tool: string,
    input: Record<string, unknown>,
    late: AbortSignal,
    stopping: AbortSignal | undefined,
  ): Promise<CallAnswer> {
    const answer = connection.call(tool, input, late);
    if (stopping === undefined) return await answer;
    using _ = onAbort(stopping, () => {
      connection.cancel(input);
    });
    return await answer;
  }

  async #connection(): Promise<McpConnection> {
    if (this.#closing.signal.aborted) throw this.#failure("closed", "was closed");
    if (this.#connecting === undefined) {
      const pause = this.#pausedUntil - this.#clock();
      if (pause > 0) {
        const seconds = Math.ceil(pause / 1000);
        const times = `has failed ${this.#failures} times in a row`;
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
      "@ai-sdk/mcp",
      "An MCP server",
      async () => await import("./mcp-connection.ts"),
    );
    let connection: McpConnection | undefined;
    try {
      connection = await connect({
        server: this.#server,
        timeoutMs: this.#startTimeoutMs,
        graceMs: this.#graceMs,
        signal: this.#closing.signal,
        onEnd: () => {
          if (connection !== undefined) this.#drop(connection);
        },
        onToolsChanged: () => {
          this.#stale = true;
        },
      });
      this.#live = connection;
      this.#stale = true;
      return connection;
    } catch (error) {
      this.#pause();
      throw this.#failure("not-started", `could not be started: ${textOf(error)}`, error);
    }
  }

  /** The next call starts the server again, after repeated failures only after a pause. */
  #drop(connection: McpConnection): void {
    if (this.#live !== connection) return;
    this.#live = undefined;
    this.#connecting = undefined;
    this.#stale = true;
    this.#pause();
    const end = connection.close().catch(() => {});
    this.#ending.add(end);
    void end.then(() => this.#ending.delete(end));
  }

  #pause(): void {
    this.#failures += 1;
    if (this.#failures < 2) return;
    const pause = FIRST_PAUSE_MS * 2 ** (this.#failures - 2);
    this.#pausedUntil = this.#clock() + Math.min(LONGEST_PAUSE_MS, pause);
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
