/** The server within the frameworks of applications: Hono, Express, and any that takes a `fetch`. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { getRequestListener, serve } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
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
