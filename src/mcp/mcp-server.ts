/**
 * One MCP server of a runtime. It starts when it is first needed, restarts after it died (with growing pauses),
 * and closes with the runtime. A fault of a server fails a call or its start, never a session.
 */

import { hash } from "node:crypto";
import type {
  GetPromptRequest,
  GetPromptResult,
  ListPromptsResult,
  ReadResourceResult,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { TurnlogError, cutShort } from "../events/index.ts";
import { AskedPerson } from "../agent/index.ts";
import {
  optionalPackage,
  onAbort,
  withFullStop,
  after,
  DEFAULT_GRACE_MS,
  LONGEST_TIMEOUT_MS,
} from "../shared/index.ts";
import type { McpConnection, McpResources } from "./mcp-connection.ts";
import type { Login } from "./mcp-login.ts";
import {
  DEFAULT_CALL_TIMEOUT_MS,
  DEFAULT_IDLE_TIMEOUT_MS,
  DEFAULT_START_TIMEOUT_MS,
  type AskPerson,
  type CallProgress,
  type ListedTool,
  type RunningCall,
  type McpServer,
} from "./mcp-options.ts";
import { failureMessage } from "./mcp-output.ts";
import { OpenCall } from "./open-call.ts";
import { LoginNeeded, NotRun, type CallAnswer, type McpResult } from "./mcp-result.ts";

/** Milliseconds for the answer to a probe. */
const PROBE_MS = 5000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds for which a cancelled call stays open after its caller has gone. */
const LINGERS_MS = 2000;

/** Most characters of an invalid answer in an error. */
const LONGEST_QUOTE = 2000;

type Trouble = "not-started" | "not-run" | "died" | "timed-out" | "closed" | "bad-answer";

/** A call that reports progress may take this many time limits at most. */
const MOST_LIMITS = 60;
/** Milliseconds between two reports that are shown: a server may send thousands. */
const PROGRESS_MS = 1000;

interface ServerUse {
  /** Milliseconds for a cancelled call to end. */
  readonly graceMs?: number | undefined;
  readonly account?: string | undefined;
  /** The tools that any account has listed. */
  readonly known?: KnownTools;
}

export interface KnownTools {
  readonly tools: readonly ListedTool[] | undefined;
  /** Those that another process has listed, too. */
  load(): Promise<readonly ListedTool[] | undefined>;
  save(tools: readonly ListedTool[]): Promise<void>;
}

export class RunningServer {
  readonly name: string;
  readonly #server: McpServer;
  readonly #clock: () => number;
  readonly #graceMs: number;
  readonly #closing = new AbortController();
  readonly #starts: Backoff;
  readonly #lists: Backoff;
  readonly #account: string | undefined;
  readonly #known: KnownTools;
  #login: Promise<Login | undefined> | undefined;
  #connecting: Promise<McpConnection> | undefined;
  #live: McpConnection | undefined;
  /** Lost connections that are still closing. */
  readonly #ending = new Set<Promise<void>>();
  /** The known tools may be out of date. */
  #stale = true;
  /** Requests in which the server waits for a person, by the call. */
  readonly #held = new Map<string, OpenCall>();
  /** Requests that run. */
  #uses = 0;
  #idle: Disposable | undefined;

  constructor(
    name: string,
    server: McpServer,
    clock: () => number,
    { graceMs = DEFAULT_GRACE_MS, account, known = knownTools(name, server) }: ServerUse = {},
  ) {
    this.name = name;
    this.#server = server;
    this.#clock = clock;
    this.#graceMs = graceMs;
    this.#account = account;
    this.#known = known;
    this.#starts = new Backoff(clock);
    this.#lists = new Backoff(clock);
  }

  get isUsed(): boolean {
    return this.#uses > 0;
  }

  /**
   * If the server does not answer, `onWarning` is called and the last known tools are used.
   * @throws TurnlogError `MCP_SERVER_FAILED` if none are known; LoginNeeded
   */
  async tools(
    onWarning: (error: TurnlogError) => void,
    ask?: AskPerson,
  ): Promise<readonly ListedTool[]> {
    const { tools } = this.#known;
    const isKnown = !this.#stale && this.#connecting !== undefined;
    if (tools !== undefined && (isKnown || this.#lists.pauseMs > 0)) return tools;
    const since = this.#clock();
    try {
      const listed = await this.#connected(async (connection) => {
        // A change during the request sets this again. HTTP servers are always asked.
        this.#stale = this.#server.url !== undefined;
        return await connection.list(this.#startTimeoutMs);
      }, ask);
      await this.#known.save(listed);
      this.#lists.succeed();
      return listed;
    } catch (error) {
      this.#stale = true;
      if (needsPerson(error)) throw error;
      const failure = this.#listFailure(error);
      if (tools === undefined) {
        // Of no use: it is started again, after a pause.
        if (failure !== error) this.#drop(this.#live, this.#clock() - since);
        throw failure;
      }
      this.#lists.fail(this.#clock() - since);
      // The session may be broken, and no other request uses it.
      if (this.#server.url !== undefined && !this.isUsed) this.rest();
      onWarning(failure);
      return tools;
    }
  }

  /** @throws TurnlogError `MCP_SERVER_FAILED`; LoginNeeded */
  async resources(ask?: AskPerson): Promise<McpResources> {
    return await this.#reading(
      async (connection) => await connection.resources(this.#startTimeoutMs),
      ask,
    );
  }

  /** @throws TurnlogError `MCP_SERVER_FAILED`; LoginNeeded */
  async prompts(ask?: AskPerson): Promise<ListPromptsResult["prompts"]> {
    return await this.#reading(
      async (connection) => await connection.prompts(this.#startTimeoutMs),
      ask,
    );
  }

  /** @throws TurnlogError `MCP_SERVER_FAILED`; LoginNeeded */
  async prompt(request: GetPromptRequest["params"], ask?: AskPerson): Promise<GetPromptResult> {
    return await this.#reading(
      async (connection) => await connection.prompt(request, this.#readTimeoutMs),
      ask,
    );
  }

  /** @throws TurnlogError `MCP_SERVER_FAILED`; LoginNeeded */
  async read(uri: string, ask?: AskPerson): Promise<ReadResourceResult> {
    return await this.#reading(
      async (connection) => await connection.read(uri, this.#readTimeoutMs),
      ask,
    );
  }

  /** Whether the server itself has a tool of that name. */
  has(tool: string): boolean {
    return this.#known.tools?.some(({ name }) => name === tool) === true;
  }

  /** @throws TurnlogError `MCP_TOOL_FAILED`, `MCP_SERVER_FAILED` */
  async call(
    tool: string,
    input: Record<string, unknown>,
    running: RunningCall = {},
  ): Promise<unknown> {
    running.signal?.throwIfAborted();
    try {
      const answer = await this.#connected(
        async (connection) => await this.#answer(connection, tool, input, running),
        running.ask,
      );
      return this.#checked(tool, answer);
    } catch (error) {
      if (!(error instanceof NotRun)) throw error;
      const what = `refused ${tool}: ${withFullStop(error.message)} It was not run.`;
      throw this.#failure("not-run", what, error);
    }
  }

  /** Ends the connection; the next request makes another one. */
  rest(): void {
    if (this.#live !== undefined) this.#part(this.#live);
  }

  /** The login of its account; undefined for a server without logins. */
  async login(): Promise<Login | undefined> {
    const { login: settings, url } = this.#server;
    if (settings?.tokens === undefined || url === undefined) return undefined;
    const { tokens } = settings;
    this.#login ??= loadedClient(async () => await import("./mcp-login.ts")).then(
      ({ Login: Made }) =>
        new Made({
          server: this.name,
          account: this.#account,
          url,
          settings: { ...settings, tokens },
          clock: this.#clock,
        }),
    );
    return await this.#login;
  }

  /** Resolves when its processes have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#idle?.[Symbol.dispose]();
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

  /** What `use` returns; again when a person has logged in, if that is needed. */
  async #connected<Result>(use: Use<Result>, ask: AskPerson | undefined): Promise<Result> {
    this.#uses += 1;
    this.#idle?.[Symbol.dispose]();
    try {
      for (;;) {
        try {
          return await this.#inSession(use);
        } catch (error) {
          if (!(error instanceof LoginNeeded) || error.url === undefined || ask === undefined)
            throw error;
          // A person may say that they have logged in, and have not: then they are asked again.
          await ask({ kind: "login-required", from: this.name, url: error.url });
        }
      }
    } finally {
      this.#uses -= 1;
      const { url, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = this.#server;
      if (url !== undefined && !this.isUsed && !this.#closing.signal.aborted)
        this.#idle = after(idleTimeoutMs, () => this.rest(), false);
    }
  }

  /** Again on a new session if the server has forgotten this one. */
  async #inSession<Result>(use: Use<Result>): Promise<Result> {
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

  async #reading<Result>(use: Use<Result>, ask: AskPerson | undefined): Promise<Result> {
    try {
      return await this.#connected(use, ask);
    } catch (error) {
      if (TurnlogError.isInstance(error) || needsPerson(error)) throw error;
      throw this.#failure("bad-answer", `gave no answer: ${textOf(error)}`, error);
    }
  }

  get #readTimeoutMs(): number {
    const { callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS } = this.#server;
    return Math.min(callTimeoutMs, LONGEST_TIMEOUT_MS);
  }

  #listFailure(error: unknown): TurnlogError {
    if (TurnlogError.isInstance(error)) return error;
    const what = `did not say what tools it has: ${textOf(error)}`;
    return this.#failure("not-started", what, error);
  }

  async #answer(
    connection: McpConnection,
    tool: string,
    input: Record<string, unknown>,
    { turn, id, signal, onProgress, ask }: RunningCall,
  ): Promise<CallAnswer> {
    const { callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS } = this.#server;
    let end: string | undefined;
    let shownAt = -Infinity;
    const attempt = {
      session: turn?.session,
      ask,
      onProgress: (progress: CallProgress): void => {
        limit.extend();
        if (this.#clock() - shownAt < PROGRESS_MS) return;
        shownAt = this.#clock();
        onProgress?.(progress);
      },
    };
    const open =
      this.#taken(id, connection) ?? new OpenCall(this.name, connection, tool, input, attempt);
    const abandon = (why: string) => (): void => {
      end ??= why;
      connection.abandon(open.input, why);
    };
    using limit = new CallLimit(
      callTimeoutMs,
      this.#clock,
      abandon(`did not answer ${tool} within ${callTimeoutMs} ms`),
    );
    const cancel = (): void => {
      connection.cancel(open.input);
      // The runtime's own wait ends first, also on a busy machine.
      limit.shorten(
        this.#graceMs + LINGERS_MS,
        abandon(`was asked to stop ${tool} and did not answer`),
      );
    };
    using _ = onAbort(signal, cancel);
    try {
      const answer = await open.answer(attempt);
      this.#starts.succeed();
      return answer;
    } catch (error) {
      if (open.isAsking) {
        if (id === undefined) open.giveUp();
        else this.#hold(id, open);
        throw error;
      }
      if (error instanceof NotRun || needsPerson(error)) throw error;
      if (end === undefined) throw await this.#unanswered(connection, tool, error);
      // One that was asked to stop may take its time.
      if (signal?.aborted !== true) await this.#probe(connection);
      throw this.#failure("timed-out", `${end}. ${UNKNOWN_OUTCOME}`, error);
    }
  }

  /** Until the next attempt of the call. A call that was denied or cancelled has none. */
  #hold(id: string, open: OpenCall): void {
    this.#held.set(id, open);
    after(
      this.#server.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      () => {
        if (this.#held.get(id) === open) this.#held.delete(id);
        open.giveUp();
      },
      false,
    );
  }

  /** The request of an earlier attempt, if its connection still has it. */
  #taken(id: string | undefined, connection: McpConnection): OpenCall | undefined {
    const held = id === undefined ? undefined : this.#held.get(id);
    if (held === undefined || id === undefined) return undefined;
    this.#held.delete(id);
    return held.connection === connection ? held : undefined;
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
    const { connect } = await loadedClient(async () => await import("./mcp-connection.ts"));
    const login = await this.login();
    let connection: McpConnection | undefined;
    const since = this.#clock();
    try {
      connection = await connect({
        server: this.#server,
        account: this.#account,
        login,
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
      // Nothing else may ask in the name of an account, and what is known may be old.
      if (this.#account !== undefined) this.tools(() => {}).catch(() => {});
      return connection;
    } catch (error) {
      if (error instanceof LoginNeeded) throw error;
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
    for (const [id, open] of this.#held) if (open.connection === connection) this.#held.delete(id);
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
      case "asks":
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

/** What ends an attempt of a call, and is not a failure of the server. */
function needsPerson(error: unknown): boolean {
  return error instanceof LoginNeeded || AskedPerson.is(error);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The tools of a server, which are the same for all accounts. With its tokens, for the next process. */
export function knownTools(server: string, { login }: McpServer): KnownTools {
  const name = `mcp-tools-${hash("sha256", server).slice(0, 32)}`;
  let tools: readonly ListedTool[] | undefined;
  return {
    get tools() {
      return tools;
    },
    async load() {
      const text = tools === undefined ? await login?.tokens?.load(name) : undefined;
      tools ??= text === undefined ? undefined : savedSchema.parse(JSON.parse(text));
      return tools;
    },
    async save(listed) {
      const isNew = JSON.stringify(listed) !== JSON.stringify(tools);
      tools = listed;
      if (isNew) await login?.tokens?.save(name, JSON.stringify(listed));
    },
  };
}

const savedSchema = z.array(z.custom<ListedTool>());

type Use<Result> = (connection: McpConnection) => Promise<Result>;

export async function loadedClient<Module>(load: () => Promise<Module>): Promise<Module> {
  return await optionalPackage("@modelcontextprotocol/client", "An MCP server", load);
}

/** The time of a call until it is abandoned. */
class CallLimit implements Disposable {
  readonly #ms: number;
  readonly #clock: () => number;
  readonly #due: () => void;
  #timer: Disposable | undefined;
  #grace: Disposable | undefined;
  readonly #latest: number;
  #isOver = false;

  constructor(ms: number, clock: () => number, due: () => void) {
    this.#ms = ms;
    this.#clock = clock;
    this.#due = due;
    this.#latest = clock() + MOST_LIMITS * ms;
    this.extend();
  }

  /** The server reports that it is at it. */
  extend(): void {
    if (this.#isOver || this.#clock() >= this.#latest) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = after(this.#ms, this.#due);
  }

  /** It ends sooner. */
  shorten(ms: number, due: () => void): void {
    this.#grace ??= after(ms, due, false);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
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
