/** The server within the frameworks of applications: Hono, Express, and any that takes a `fetch`. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  getRequestListener,
  serve,
  upgradeWebSocket,
  type WebSocketServerLike,
} from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { createServer, type Server } from "../../src/public/server.ts";
import { serving } from "./serving.ts";

const headers = { authorization: "Bearer secret", "content-type": "application/json" };
const body = JSON.stringify({
  id: "c",
  messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }],
});

async function mounted(): Promise<{ readonly runtime: Runtime; readonly server: Server }> {
  const runtime = await createRuntime({
    memory: true,
    graceMs: 1,
    agent: { model: scriptedModel(["Hello."]) },
  });
  return { runtime, server: createServer(runtime, { token: "secret" }) };
}

describe("a server is mounted", () => {
  it("as the fetch of a route, as in Next.js and Bun", async () => {
    const { runtime, server } = await mounted();
    await using _ = runtime;
    const POST: (request: Request) => Promise<Response> = server.fetch;
    const answer = await POST(
      new Request("http://localhost/api/chat", { method: "POST", headers, body }),
    );
    expect(await answer.text()).toContain("Hello.");
  });

  it("in Hono, beside the application's own routes", async () => {
    const { runtime, server } = await mounted();
    await using _ = runtime;
    const app = new Hono();
    app.get("/", (context) => context.text("home"));
    app.all("/api/*", (context) => server.fetch(context.req.raw));
    const listening = serve({ fetch: app.fetch, port: 0, overrideGlobalObjects: false });
    await once(listening, "listening");
    const { port } = listening.address() as AddressInfo;
    const answer = await fetch(`http://localhost:${port}/api/chat`, {
      method: "POST",
      headers,
      body,
    });
    expect(await answer.text()).toContain("Hello.");
    expect(await (await fetch(`http://localhost:${port}/`)).text()).toBe("home");
    listening.close();
    await once(listening, "close");
  });

  it("in Hono with its WebSockets, by `server.upgrade`", async () => {
    const { runtime, server } = await mounted();
    await using _ = runtime;
    const app = new Hono();
    app.on("GET", ["/ws", "/api/chat"], async (context, next) => {
      const socket = await server.upgrade(context.req.raw);
      if (socket instanceof Response) return socket;
      const upgraded = upgradeWebSocket(() => ({
        onOpen: (_event, connection) => {
          const { raw } = connection;
          socket.open({
            send: (text) => connection.send(text),
            close: (code, reason) => connection.close(code, reason),
            buffered: () => (raw instanceof WebSocket ? raw.bufferedAmount : 0),
          });
        },
        onMessage: ({ data }) => socket.message(data),
        onClose: () => socket.close(),
      }));
      return await upgraded(context, next);
    });
    const websocket = { server: new WebSocketServer({ noServer: true }) as WebSocketServerLike };
    const listening = serve({ fetch: app.fetch, port: 0, overrideGlobalObjects: false, websocket });
    await once(listening, "listening");
    const { port } = listening.address() as AddressInfo;
    const wrong = new WebSocket(`ws://localhost:${port}/ws?sessionId=s`);
    const [error] = await once(wrong, "error").catch((thrown: unknown) => [thrown]);
    expect(String(error)).toContain("401");
    await runtime.session("s");
    const client = new WebSocket(`ws://localhost:${port}/ws?sessionId=s`, { headers });
    await once(client, "open");
    client.send(JSON.stringify({ id: 1, type: "get_context_info" }));
    const [frame] = (await once(client, "message")) as [Buffer];
    expect(JSON.parse(frame.toString())).toMatchObject({ id: 1, type: "context_info" });
    const closed = once(client, "close");
    server.close("the server stops");
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1001, "the server stops"]);
    listening.close();
    await once(listening, "close");
  });

  it("in Express, before its body parsers", async () => {
    const { runtime, server } = await mounted();
    await using _ = runtime;
    const app = express();
    const listener = getRequestListener(server.fetch, { overrideGlobalObjects: false });
    app.all("/api/*path", (request, response) => void listener(request, response));
    app.use(express.json());
    const listening = app.listen(0);
    await once(listening, "listening");
    const { port } = listening.address() as AddressInfo;
    const answer = await fetch(`http://localhost:${port}/api/chat`, {
      method: "POST",
      headers,
      body,
    });
    expect(await answer.text()).toContain("Hello.");
    listening.close();
    await once(listening, "close");
  });

  it("refuses a WebSocket where nothing upgrades it, and says what to use", async () => {
    const { runtime, server } = await mounted();
    await using _ = runtime;
    const answer = await server.fetch(new Request("http://localhost/ws?sessionId=s", { headers }));
    expect([answer.status, await answer.json()]).toMatchObject([426, { code: "UPGRADE_REQUIRED" }]);
  });
});

it("serveNode refuses an upgrade that is not for its WebSocket", async () => {
  await using open = await serving({ model: scriptedModel([]) });
  const socket = new WebSocket(`${open.server.url.replace("http", "ws")}/api/sessions`, {
    headers,
  });
  const [error] = await once(socket, "error").catch((thrown: unknown) => [thrown]);
  expect(String(error)).toMatch(/Unexpected server response: 40[014]/);
});

it("a closing server refuses requests and reports no fault", async () => {
  const { runtime } = await mounted();
  await using _ = runtime;
  const faults: unknown[] = [];
  const server = createServer(runtime, { token: "secret", onError: (error) => faults.push(error) });
  server.close();
  const answer = await server.fetch(new Request("http://localhost/api/sessions", { headers }));
  expect([answer.status, await answer.json()]).toMatchObject([503, { code: "RUNTIME_CLOSED" }]);
  const upgrade = await server.upgrade(new Request("http://localhost/ws?sessionId=s", { headers }));
  expect(upgrade).toMatchObject({ status: 503 });
  expect(faults).toEqual([]);
});
