/** All MCP servers of a runtime, with a connection for each account, and the tools that they offer together. */

import { TurnlogError, type McpOffer } from "../events/index.ts";
import { awaited } from "../agent/index.ts";
import type { ReadFile } from "../media/index.ts";
import { withFullStop } from "../shared/index.ts";
import {
  DEFAULT_MAX_CONNECTIONS,
  type ListedTool,
  type McpServer,
  type McpServers,
  type McpTurn,
  type ResourceContent,
  type TokenStore,
} from "./mcp-options.ts";
import { LoginNeeded } from "./mcp-result.ts";
import { knownTools, loadedClient, RunningServer, type KnownTools } from "./mcp-server.ts";
import { namePrefix, offerOf, type CallTool } from "./offered-tools.ts";
import { callOwnTool, LOGIN, loginTool, readingTools } from "./own-tools.ts";

export interface McpSurroundings {
  /** Names of agents' own tools, which server tools must not use. */
  readonly taken: ReadonlySet<string>;
  /** Called for a failed server when no call fails with it. */
  readonly onWarning: (error: TurnlogError) => void;
  readonly clock: () => number;
  /** Milliseconds from cancelling a call until it is abandoned. */
  readonly graceMs?: number;
}

/** A server that the runtime has, with the connections of its accounts. */
interface Opened {
  readonly settings: McpServer;
  readonly known: KnownTools;
  /** The one that was used last comes last. */
  readonly connections: Map<string | undefined, RunningServer>;
}

export class OpenMcpServers {
  readonly #servers: ReadonlyMap<string, Opened>;
  readonly #around: McpSurroundings;
  #missing: ReadonlySet<string> = new Set();

  constructor(servers: McpServers, around: McpSurroundings) {
    this.#around = around;
    this.#servers = new Map(
      Object.entries(servers).map(([name, given]) => {
        const { login } = given;
        const settings =
          login === undefined ? given : { ...given, login: { tokens: memoryTokens(), ...login } };
        return [name, { settings, known: knownTools(name, settings), connections: new Map() }];
      }),
    );
  }

  /**
   * Starts servers that do not run; warns once about each that cannot be started. Without a turn, a server with
   * accounts offers what one of them has listed before.
   * @param called - Names of tools that open calls need: a login stays one that another process has finished
   */
  async offer(turn?: McpTurn, called: readonly string[] = []): Promise<McpOffer> {
    const { onWarning, taken } = this.#around;
    const answers = await Promise.all(
      [...this.#servers].map(async ([name, opened]) => {
        try {
          const tools = await this.#tools(name, opened, turn);
          const isCalled = called.includes(`${namePrefix(name)}${LOGIN}`);
          const isOffered = tools.some((tool) => tool.name === LOGIN);
          return { name, tools: isCalled && !isOffered ? [...tools, loginTool(name)] : tools };
        } catch (error) {
          return { name, error };
        }
      }),
    );
    const missing = answers.filter((answer) => "error" in answer);
    for (const { name, error } of missing) {
      if (!TurnlogError.isInstance(error)) throw error;
      if (!this.#missing.has(name)) onWarning(error);
    }
    this.#missing = new Set(missing.map(({ name }) => name));
    const listed = answers.flatMap(({ name, tools = [] }) =>
      tools.map((tool) => ({ server: name, settings: this.#servers.get(name)?.settings, tool })),
    );
    return { tools: offerOf(listed, taken), missing: [...this.#missing] };
  }

  readonly call: CallTool = async ({ server, tool, name }, input, running = {}) => {
    const what = `The tool ${name} is of the MCP server ${server}`;
    return await this.#asked(server, what, running.turn, async (connection, settings) => {
      const own = connection.has(tool)
        ? undefined
        : callOwnTool({ server, tool, input, connection, settings, running });
      return await (own ?? connection.call(tool, input, running));
    });
  };

  /** Of all servers that answer; of the others `onWarning` is told. */
  async resources(turn?: McpTurn): Promise<readonly McpResource[]> {
    const listed = await Promise.all(
      [...this.#servers].map(async ([server, opened]) => {
        try {
          const { resources } = await (await this.#of(server, opened, turn)).resources();
          return resources.map((resource) => ({ server, ...resource }));
        } catch (error) {
          if (error instanceof LoginNeeded) return [];
          if (!TurnlogError.isInstance(error)) throw error;
          this.#around.onWarning(error);
          return [];
        }
      }),
    );
    return listed.flat();
  }

  /** @throws TurnlogError `MCP_SERVER_FAILED` */
  async read(server: string, uri: string, turn?: McpTurn): Promise<readonly ResourceContent[]> {
    const what = `The resource ${uri} is of the MCP server ${server}`;
    const read = async (connection: RunningServer) => await connection.read(uri);
    return (await this.#asked(server, what, turn, read)).contents;
  }

  /** The resource that `server:uri` names, as a file of a message. Undefined if it names no server. */
  attachment(source: string, turn: McpTurn): Promise<ReadFile> | undefined {
    const [, server = "", uri = ""] = /^([^:]+):(.+)$/s.exec(source) ?? [];
    if (!this.#servers.has(server)) return undefined;
    return this.read(server, uri, turn).then((contents) => {
      const bytes = contents.map(({ blob, text = "" }) =>
        blob === undefined ? Buffer.from(text) : Buffer.from(blob, "base64"),
      );
      return { name: source, bytes: Buffer.concat(bytes), mediaType: contents[0]?.mimeType };
    });
  }

  /**
   * Finishes the login that a callback's query tells of. It can be used again until `end`.
   * @param mayLogIn - Whether the person who sent it may log in for the account: ask it before anything is done.
   * @throws TurnlogError `COMMAND_REFUSED` for an unknown or finished login, `FORBIDDEN` for another person's,
   * `MCP_SERVER_FAILED` for one that the server refused
   */
  async finishLogin(
    query: URLSearchParams,
    mayLogIn: (login: FinishedLogin) => boolean | Promise<boolean>,
  ): Promise<{ readonly login: FinishedLogin; readonly end: () => Promise<void> }> {
    const state = query.get("state") ?? "";
    const { accountOf } = await loadedClient(async () => await import("./mcp-login.ts"));
    for (const [server, opened] of this.#servers) {
      const tokens = opened.settings.login?.tokens;
      const begun = tokens && (await accountOf(server, tokens, state));
      if (begun === undefined) continue;
      const finished = { server, ...begun };
      if (!(await mayLogIn(finished)))
        throw loginFailed("FORBIDDEN", server, "is of another person");
      const login = await this.#connection(server, opened, begun.account).login();
      try {
        await login?.finish(query);
      } catch (error) {
        // What the login's server answered may have a token in it.
        const said = error instanceof Error ? error.message.split(/raw body/i)[0] : "";
        const why = said === "" ? "failed" : `failed: ${said?.slice(0, 200)}`;
        throw loginFailed("MCP_SERVER_FAILED", server, why);
      }
      return { login: finished, end: async () => await login?.end() };
    }
    throw loginFailed(
      "COMMAND_REFUSED",
      undefined,
      "is of no login that has begun here, or was used before",
    );
  }

  /** Resolves when their processes have ended. */
  async close(): Promise<void> {
    const connections = [...this.#servers.values()].flatMap((one) => [...one.connections.values()]);
    await Promise.all(connections.map(async (server) => await server.close()));
  }

  async #tools(
    name: string,
    opened: Opened,
    turn: McpTurn | undefined,
  ): Promise<readonly ListedTool[]> {
    const { settings, known } = opened;
    const { login } = settings;
    const more = readingTools(settings);
    try {
      const connection = await this.#of(name, opened, turn);
      return [...(await connection.tools(this.#around.onWarning)), ...more];
    } catch (error) {
      if (!(error instanceof LoginNeeded)) throw error;
      const tools = await known.load();
      if (tools !== undefined) return [...tools, ...more];
      return login === undefined ? [] : [loginTool(name)];
    }
  }

  /** What `use` gets from a server. @throws TurnlogError `MCP_SERVER_FAILED` also where only a person could help */
  async #asked<Result>(
    server: string,
    what: string,
    turn: McpTurn | undefined,
    use: (connection: RunningServer, settings: McpServer) => Promise<Result>,
  ): Promise<Result> {
    const opened = this.#servers.get(server);
    if (opened === undefined) throw notHere(what, server);
    try {
      return await use(await this.#of(server, opened, turn), opened.settings);
    } catch (error) {
      throw error instanceof LoginNeeded ? notRun(server, error.message) : error;
    }
  }

  /** @throws LoginNeeded for a turn without an account at a server that has accounts */
  async #of(name: string, opened: Opened, turn: McpTurn | undefined): Promise<RunningServer> {
    const { account } = opened.settings;
    if (account === undefined) return this.#connection(name, opened, undefined);
    const known = turn && (await awaited("account", () => account(turn)));
    if (known === undefined || known === "") throw new LoginNeeded();
    return this.#connection(name, opened, known);
  }

  /** The connection of an account; the one that was not used for longest makes room for it. */
  #connection(name: string, opened: Opened, account: string | undefined): RunningServer {
    const { settings, known, connections } = opened;
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = settings;
    const found = connections.get(account);
    connections.delete(account);
    if (found === undefined && connections.size >= maxConnections) {
      const rested = [...connections].find(([, { isUsed }]) => !isUsed);
      if (rested === undefined)
        throw notRun(name, `It is used by ${maxConnections} accounts at a time, the most.`);
      connections.delete(rested[0]);
      void rested[1].close();
    }
    const { clock, graceMs } = this.#around;
    const made = found ?? new RunningServer(name, settings, clock, { graceMs, account, known });
    connections.set(account, made);
    return made;
  }
}

export interface FinishedLogin {
  readonly server: string;
  readonly account: string | undefined;
}

export interface McpResource {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}

function notHere(what: string, server: string): TurnlogError {
  return new TurnlogError(
    "MCP_SERVER_FAILED",
    `${what}, which this runtime does not have. The call had no effect.`,
    { details: { server, trouble: "not-started" } },
  );
}

function notRun(server: string, why: string): TurnlogError {
  return new TurnlogError(
    "MCP_SERVER_FAILED",
    `The MCP server ${server} was not asked. ${withFullStop(why)} The call was not run.`,
    { details: { server, trouble: "not-run" } },
  );
}

function loginFailed(
  code: "MCP_SERVER_FAILED" | "FORBIDDEN" | "COMMAND_REFUSED",
  server: string | undefined,
  what: string,
): TurnlogError {
  const at = server === undefined ? "an MCP server" : `the MCP server ${server}`;
  return new TurnlogError(code, `The login at ${at} ${withFullStop(what)} Begin it again.`, {
    details: { server, trouble: "not-run" },
  });
}

function memoryTokens(): TokenStore {
  const texts = new Map<string, string>();
  return {
    load: async (name) => texts.get(name),
    save: async (name, text) => void texts.set(name, text),
  };
}
