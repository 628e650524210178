/** Servers over HTTP: they get a cancel, and odd answers concern their own call as they do over a pipe. */

import { describe, expect, it } from "vitest";
import { RunningServer } from "../../src/mcp/mcp-server.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { endOf } from "../runtime/tools.ts";
import { ownHttpServer, type OwnHttpServer } from "./own-http-server.ts";
import { until } from "./own-servers.ts";

/** How a call ended that was cancelled while the server was at it, asked for when `isOver`. */
async function cancelled(
  server: OwnHttpServer,
  graceMs: number,
  isOver: () => boolean,
): Promise<unknown> {
  const model = scriptedModel([calling(call("own__wait", "1")), "Done."]);
  const headers = { authorization: "Bearer key" };
  const mcp = { own: { url: server.url, headers } };
  await using open = await openSession({ model }, { mcp, graceMs });
  const running = await open.session.send("Go.");
  await until(() => server.noted.includes("wait"));
  await open.session.cancel();
  await running.result;
  // Before the runtime closes, which closes requests too.
  await until(isOver);
  return await endOf(open, "1");
}

const unknown = { type: "tool.unknown", data: { reason: "cancelled" } };

describe("a cancelled call", () => {
  it("is sent to a server of an earlier version, and its request is closed when its time is up", async () => {
    await using server = await ownHttpServer({ version: "2025-11-25", as: "json" });
    const isClosed = (): boolean => server.noted.includes("closed");
    expect(await cancelled(server, 50, isClosed)).toMatchObject(unknown);
    const afterwards = server.noted.slice(server.noted.indexOf("wait"));
    expect(afterwards).toEqual(["wait", "notifications/cancelled", "closed"]);
    expect(server.cancelHeaders).toMatchObject([
      {
        authorization: "Bearer key",
        "mcp-session-id": "1",
        "mcp-protocol-version": "2025-11-25",
      },
    ]);
  });

  it("is what the server says to that, where it says something in time", async () => {
    const version = "2025-11-25";
    await using server = await ownHttpServer({ version, as: "stream", hasLastWord: true });
    expect(await cancelled(server, 60_000, () => true)).toMatchObject({
      type: "tool.succeeded",
      data: { output: { content: [{ text: "stopped half way" }] } },
    });
    expect(server.noted).not.toContain("closed");
  });

  it("is closed at once at a server for which that is the cancel", async () => {
    await using server = await ownHttpServer({ version: "2026-07-28", as: "json" });
    const isClosed = (): boolean => server.noted.includes("closed");
    expect(await cancelled(server, 50, isClosed)).toMatchObject(unknown);
    const afterwards = server.noted.slice(server.noted.indexOf("wait"));
    expect(afterwards).toEqual(["wait", "closed"]);
  });
});

const json = (result: unknown): string => JSON.stringify({ jsonrpc: "2.0", id: "ID", result });

describe.each([
  { version: "2025-11-25", as: "json" },
  { version: "2025-11-25", as: "stream" },
  { version: "2026-07-28", as: "json" },
  { version: "2026-07-28", as: "stream" },
] as const)("a server of $version that answers by $as", (options) => {
  it("gives odd answers, and each fails its own call at once", async () => {
    await using own = await ownHttpServer(options);
    const settings = { url: own.url, callTimeoutMs: Number.POSITIVE_INFINITY };
    const server = new RunningServer("own", settings, Date.now);
    let end: unknown;
    const waiting = server.call("wait", {}).catch((error: unknown) => {
      end = error;
    });
    await until(() => own.noted.includes("wait"));
    for (const [line, pattern] of [
      [json({ isError: "yes" }), /result\.isError: .*boolean/],
      [json({ _meta: 5, content: [] }), /result\._meta: .*object/],
      [json(5), /result: .*object/],
      ['{"jsonrpc":"2.0","id":"ID","result":{"x":NaN}}', /NaN/],
      ["null", /no answer to raw/],
      ['{"jsonrpc":"2.0","result":{}}', /no answer to raw/],
      ["[]", /no answer to raw/],
      ["", /no answer to raw/],
    ] as const) {
      await expect(server.call("raw", { line }), line).rejects.toMatchObject({
        code: "MCP_SERVER_FAILED",
        details: { trouble: "bad-answer" },
        message: expect.stringMatching(pattern) as unknown,
      });
    }
    await expect(server.call("trip", {})).rejects.toMatchObject({
      details: { trouble: "bad-answer" },
      message: expect.stringContaining("tripped") as unknown,
    });
    const line = json({ content: [{ type: "image", data: "aGVsbG8=" }], isError: null });
    expect(await server.call("raw", { line })).toMatchObject({ isError: false });
    // The call that runs there continues, and no other connection was made.
    expect(end).toBeUndefined();
    expect(own.noted).not.toContain("closed");
    expect(own.noted.filter((method) => method === "server/discover")).toHaveLength(1);
    await server.close();
    await waiting;
    expect(end).toMatchObject({ details: { trouble: "closed" } });
  });
});

describe("a server that has forgotten its session", () => {
  it("is asked again on a new one, and a call runs once", async () => {
    await using own = await ownHttpServer({ version: "2025-11-25", as: "json" });
    const server = new RunningServer("own", { url: own.url }, Date.now);
    const onWarning = (): void => expect.unreachable();
    await server.tools(onWarning);
    own.forget();
    expect(await server.call("say", {})).toMatchObject({ content: [{ text: "say" }] });
    own.forget();
    expect(await server.tools(onWarning)).toHaveLength(6);
    const left = ["server/discover", "notifications/initialized"];
    expect(own.noted.filter((name) => !left.includes(name))).toEqual([
      "initialize",
      "tools/list",
      "tools/call 404",
      "initialize",
      "say",
      "tools/list 404",
      "initialize",
      "tools/list",
    ]);
    await server.close();
  });
});

describe("a server that refuses a call before it runs", () => {
  it("is said to have done nothing", async () => {
    await using own = await ownHttpServer({ version: "2025-11-25", as: "json" });
    const server = new RunningServer("own", { url: own.url }, Date.now);
    await expect(server.call("deny", {})).rejects.toMatchObject({
      details: { server: "own", trouble: "not-run" },
      message: expect.stringContaining("denied. It was not run.") as unknown,
    });
    await server.close();
  });
});
