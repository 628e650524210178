/** Servers that want a login: one for each account, renewed before it ends, finished by any process. */

import { describe, expect, it } from "vitest";
import type { CallQuestion } from "../../src/events/index.ts";
import type { McpServers } from "../../src/mcp/index.ts";
import { OpenMcpServers } from "../../src/mcp/mcp-servers.ts";
import { accountOf, Login } from "../../src/mcp/mcp-login.ts";
import { LoginNeeded } from "../../src/mcp/mcp-result.ts";
import { memoryKeys, type KeyStore } from "../../src/store/encryption/index.ts";
import { until } from "./own-servers.ts";
import { loggedInAt, loginServer, type LoginServer } from "./own-login-server.ts";

const redirectUrl = "http://127.0.0.1:9/callback";

interface Opened extends AsyncDisposable {
  readonly servers: OpenMcpServers;
  /** The user that the server takes the caller for. */
  readonly whoami: (account?: string, tool?: string) => Promise<unknown>;
  readonly asked: readonly CallQuestion[];
}

/** @param answers - Logs in, and finishes it with these servers: those of another process. */
function opened(
  { url }: LoginServer,
  { clock = Date.now, tokens = memoryKeys(), more = {}, finishing }: Options = {},
): Opened {
  const settings: McpServers = {
    own: {
      url,
      login: { redirectUrl, tokens },
      account: ({ runtimeContext }) => runtimeContext?.["user"]?.toString(),
      ...more,
    },
  };
  const onWarning = (error: Error): never => expect.unreachable(error.message);
  const servers = new OpenMcpServers(settings, { taken: new Set(), onWarning, clock });
  const asked: CallQuestion[] = [];
  return {
    servers,
    asked,
    whoami: async (user = "ann", tool = "whoami") =>
      await servers.call(
        { server: "own", tool, name: tool, inputSchema: {} },
        {},
        {
          turn: { session: "s", runtimeContext: { user } },
          ask: async (question) => {
            asked.push(question);
            if (question.kind !== "login-required") throw new Error(question.kind);
            const query = await loggedInAt(question.url);
            await finish(finishing ?? servers, query, ({ account }) => account === user);
            return { content: {} };
          },
        },
      ),
    [Symbol.asyncDispose]: async () => await servers.close(),
  };
}

interface Options {
  readonly clock?: () => number;
  readonly tokens?: Pick<KeyStore, "load" | "save">;
  readonly more?: object;
  readonly finishing?: OpenMcpServers;
}

async function finish(
  servers: OpenMcpServers,
  ...given: Parameters<OpenMcpServers["finishLogin"]>
): Promise<unknown> {
  const { login, end } = await servers.finishLogin(...given);
  await end();
  return login;
}

const said = (text: string): unknown =>
  expect.objectContaining({ content: [{ type: "text", text }] });

describe("a call at a server that wants a login", () => {
  it("asks the person of its account, once, and continues", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    expect(await open.whoami("ann")).toEqual(said("user 1"));
    expect(await open.whoami("bob")).toEqual(said("user 2"));
    expect(await open.whoami("ann")).toEqual(said("user 1"));
    expect(open.asked).toMatchObject([
      {
        kind: "login-required",
        from: "own",
        url: expect.stringContaining("code_challenge=") as unknown,
      },
      { kind: "login-required", from: "own" },
    ]);
    expect(server.noted.filter((path) => path === "/register")).toHaveLength(2);
  });

  it("continues when another process finishes the login", async () => {
    await using server = await loginServer();
    const tokens = memoryKeys();
    await using other = opened(server, { tokens });
    await using open = opened(server, { tokens, finishing: other.servers });
    expect(await open.whoami()).toEqual(said("user 1"));
    expect(await other.whoami()).toEqual(said("user 1"));
    expect(other.asked).toEqual([]);
  });

  it("was not run, and says the address, where nobody can be asked", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    const call = open.servers.call(
      { server: "own", tool: "whoami", name: "own__whoami", inputSchema: {} },
      {},
      { turn: { session: "s", runtimeContext: { user: "ann" } } },
    );
    await expect(call).rejects.toMatchObject({
      code: "MCP_SERVER_FAILED",
      details: { trouble: "not-run" },
      message: expect.stringMatching(/login: http.*was not run/) as unknown,
    });
  });

  it("is refused for a turn that has no account, and asks nobody", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    const call = open.servers.call(
      { server: "own", tool: "whoami", name: "own__whoami", inputSchema: {} },
      {},
      { turn: { session: "s" }, ask: () => expect.unreachable() },
    );
    await expect(call).rejects.toMatchObject({ details: { trouble: "not-run" } });
    expect(server.noted).toEqual([]);
  });

  it("asks for more where the server wants more than was allowed", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    expect(await open.whoami()).toEqual(said("user 1"));
    expect(await open.whoami("ann", "pay")).toEqual(said("user 2"));
    expect(open.asked.map((question) => "url" in question && question.url)).toEqual([
      expect.not.stringContaining("scope=pay"),
      expect.stringContaining("scope=pay"),
    ]);
  });

  it("keeps what was allowed before when it asks for more", async () => {
    await using server = await loginServer();
    const tokens = memoryKeys();
    await using open = opened(server, { tokens });
    await open.whoami("ann", "pay");
    const about = { server: "own", account: "ann", url: server.url };
    const login = new Login({ ...about, settings: { redirectUrl, tokens }, clock: Date.now });
    const wider = login.widen("refund");
    await expect(wider).rejects.toMatchObject({
      url: expect.stringContaining("scope=pay+refund") as unknown,
    });
  });
});

it("a login is finished only by the state that its address has, at its server", async () => {
  await using server = await loginServer();
  const tokens = memoryKeys();
  const about = { server: "own", account: "ann", url: server.url };
  const login = new Login({ ...about, settings: { redirectUrl, tokens }, clock: Date.now });
  const begun = await login.widen("pay").catch((error: unknown) => error);
  if (!(begun instanceof LoginNeeded)) throw new Error("No login was begun.");
  const state = new URL(begun.url ?? "").searchParams.get("state") ?? "";
  expect(await accountOf("own", tokens, state)).toEqual({ account: "ann" });
  expect(await accountOf("own", tokens, `${state}x`)).toBeUndefined();
  expect(await accountOf("other", tokens, state)).toBeUndefined();
});

describe("a token", () => {
  it("is renewed before it ends, once for all calls", async () => {
    let now = Date.now();
    await using server = await loginServer(3600);
    await using open = opened(server, { clock: () => now });
    await open.whoami();
    now += 3_550_000;
    await Promise.all([open.whoami(), open.whoami(), open.whoami()]);
    expect(server.noted.filter((path) => path === "/token")).toHaveLength(2);
    expect(open.asked).toHaveLength(1);
  });

  it("that the server no longer takes is renewed, once for all calls", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    await open.whoami();
    server.expire("access");
    await Promise.all([open.whoami(), open.whoami()]);
    expect(server.noted.filter((path) => path === "/token")).toHaveLength(2);
    expect(open.asked).toHaveLength(1);
  });

  it("that two processes renew at the same time asks nobody", async () => {
    await using server = await loginServer();
    const tokens = memoryKeys();
    await using open = opened(server, { tokens });
    await using other = opened(server, { tokens });
    await open.whoami();
    await other.whoami();
    server.expire("access");
    const users = await Promise.all([open.whoami(), other.whoami()]);
    expect(users).toEqual([said("user 1"), said("user 1")]);
    expect([...open.asked, ...other.asked]).toHaveLength(1);
  });

  it("that one process renews while another begins a wider one stays renewed", async () => {
    await using server = await loginServer();
    const tokens = memoryKeys();
    await using open = opened(server, { tokens });
    await open.whoami();
    const [written, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const save = async (name: string, text: string): Promise<void> => {
      written.resolve();
      await go.promise;
      await tokens.save(name, text);
    };
    const settings = {
      redirectUrl,
      tokens: { load: async (name: string) => await tokens.load(name), save },
    };
    const about = { server: "own", account: "ann", url: server.url };
    const wider = new Login({ ...about, settings, clock: Date.now }).widen("pay");
    await written.promise;
    server.expire("access");
    expect(await open.whoami()).toEqual(said("user 1"));
    go.resolve();
    await expect(wider).rejects.toBeInstanceOf(LoginNeeded);
    server.expire("access");
    expect(await open.whoami()).toEqual(said("user 1"));
  });

  it("that can no longer be renewed asks the person again", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    await open.whoami();
    server.expire("all");
    expect(await open.whoami()).toEqual(said("user 2"));
    expect(open.asked).toHaveLength(2);
  });

  it("is in the store, under a name that tells nobody the account", async () => {
    await using server = await loginServer();
    const texts = new Map<string, string>();
    const tokens = {
      load: async (name: string) => texts.get(name),
      save: async (name: string, text: string) => void texts.set(name, text),
    };
    await using open = opened(server, { tokens });
    await open.whoami();
    expect(
      [...texts.keys()].every((name) =>
        /^mcp-(?:tools-[0-9a-f]{32}|[0-9a-f]{32}-[a-z]+)$/.test(name),
      ),
    ).toBe(true);
    expect(server.secrets.every((secret) => [...texts.values()].join("").includes(secret))).toBe(
      true,
    );
  });
});

describe("a callback", () => {
  it("is refused that nobody has begun, that comes twice, and of a person of another account", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    const failed = (code: string): unknown => expect.objectContaining({ code });
    const anyone = (): boolean => true;
    const queries: URLSearchParams[] = [];
    await open.servers
      .call(
        { server: "own", tool: "whoami", name: "w", inputSchema: {} },
        {},
        {
          turn: { session: "s", runtimeContext: { user: "ann" } },
          ask: async (question) => {
            queries.push(await loggedInAt("url" in question ? question.url : ""));
            throw new Error("later");
          },
        },
      )
      .catch(() => {});
    const [query = new URLSearchParams()] = queries;
    await expect(
      open.servers.finishLogin(new URLSearchParams("state=x&code=y"), anyone),
    ).rejects.toEqual(failed("COMMAND_REFUSED"));
    await expect(open.servers.finishLogin(query, () => false)).rejects.toEqual(failed("FORBIDDEN"));
    expect(await finish(open.servers, query, anyone)).toEqual({
      server: "own",
      account: "ann",
    });
    await expect(open.servers.finishLogin(query, anyone)).rejects.toEqual(
      failed("COMMAND_REFUSED"),
    );
    expect(await open.whoami()).toEqual(said("user 1"));
  });

  it("with the wrong issuer logs nobody in", async () => {
    await using server = await loginServer();
    await using open = opened(server);
    const login = open.servers.call(
      { server: "own", tool: "whoami", name: "w", inputSchema: {} },
      {},
      {
        turn: { session: "s", runtimeContext: { user: "ann" } },
        ask: async (question) => {
          const query = await loggedInAt("url" in question ? question.url : "");
          query.set("iss", "http://127.0.0.1:9");
          await finish(open.servers, query, () => true);
          return { content: {} };
        },
      },
    );
    await expect(login).rejects.toMatchObject({
      message: expect.stringContaining("Issuer mismatch") as unknown,
    });
  });
});

describe("the offer of a server that wants a login", () => {
  it("is a login until someone has listed the tools, and then those", async () => {
    await using server = await loginServer();
    const tokens = memoryKeys();
    await using open = opened(server, { tokens });
    const names = async (): Promise<readonly string[]> =>
      (await open.servers.offer({ session: "s", runtimeContext: { user: "ann" } })).tools.map(
        ({ name }) => name,
      );
    expect(await names()).toEqual(["own__login"]);
    expect(await open.whoami("ann", "login")).toEqual(
      said(
        "The user is logged in at own. From the next message on you can call: own__whoami, own__pay.",
      ),
    );
    expect(await names()).toEqual(["own__whoami", "own__pay"]);
    // Also in another process, which nobody has told of an account.
    await using other = opened(server, { tokens });
    expect((await other.servers.offer({ session: "s" })).tools).toHaveLength(2);
  });
});

describe("connections of accounts", () => {
  it("that are all in use leave none for another account", async () => {
    await using server = await loginServer();
    await using open = opened(server, { more: { maxConnections: 1 } });
    const later = new Error("later");
    const busy = open.servers.call(
      { server: "own", tool: "whoami", name: "w", inputSchema: {} },
      {},
      {
        turn: { session: "s", runtimeContext: { user: "ann" } },
        ask: async () => {
          await expect(open.whoami("bob")).rejects.toMatchObject({
            message: expect.stringContaining("1 accounts at a time") as unknown,
          });
          throw later;
        },
      },
    );
    await expect(busy).rejects.toBe(later);
  });

  it("are closed when they are idle, and made again", async () => {
    await using server = await loginServer();
    await using open = opened(server, { more: { idleTimeoutMs: 0 } });
    await open.whoami("ann");
    await until(() => server.noted.includes("closed"));
    expect(await open.whoami("ann")).toEqual(said("user 1"));
  });

  it("make room for each other, the one that was used last stays", async () => {
    await using server = await loginServer();
    await using open = opened(server, { more: { maxConnections: 2 } });
    for (const user of ["ann", "bob", "ann", "cy"]) await open.whoami(user);
    await until(() => server.noted.includes("closed"));
    expect(await open.whoami("ann")).toEqual(said("user 1"));
    expect(server.noted.filter((name) => name === "closed")).toHaveLength(1);
  });
});
