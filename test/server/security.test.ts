/** What keeps others out of a server: each attack is refused, and nothing of the store is said or changed. */

import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import { createServer, serveNode } from "../../src/public/server.ts";
import { RateLimit } from "../../src/server/security/rate-limit.ts";
import { serverSettings } from "../../src/server/server-options.ts";
import { rawRequest, serving } from "./serving.ts";
import { eventually } from "../support/eventually.ts";
import type { ServeOptions } from "../../src/server/index.ts";

const agent = () => ({ model: scriptedModel(() => "ok") });
const list = "/api/sessions";

describe("where a request comes from", () => {
  it.each([
    ["another name that points here", { host: "evil.example" }, 403],
    ["another name with our port", { host: "localhost.evil.example:4400" }, 403],
    ["a name with a user", { host: "evil@localhost" }, 403],
    ["localhost", { host: "localhost:1" }, 200],
  ])("by its host: %s", async (_, headers, status) => {
    await using open = await serving(agent());
    // Node itself refuses some of these hosts, with 400.
    const answer = await rawRequest(open.server, list, headers);
    expect([status, status === 403 ? 400 : status]).toContain(answer.status);
  });

  it.each([
    ["a page of another site", { origin: "https://evil.example" }],
    ["a page without an origin", { origin: "null" }],
    ["a page on another port", { origin: "http://127.0.0.1:1" }],
    ["an image of another site", { "sec-fetch-site": "cross-site" }],
    ["an image of another host of the site", { "sec-fetch-site": "same-site" }],
  ])("by its origin: %s", async (_, headers) => {
    await using open = await serving(agent(), { token: false });
    const refused = await rawRequest(open.server, list, headers);
    expect(refused.status).toBe(403);
    expect(refused.headers["access-control-allow-origin"]).toBeUndefined();
    const posted = await rawRequest(open.server, "/api/sessions/s/cancel", headers, "POST");
    expect(posted.status).toBe(403);
    const preflight = await rawRequest(open.server, list, headers, "OPTIONS");
    expect(preflight.status).toBe(403);
  });

  it("lets in the server's own pages and the origins that were set, and no others", async () => {
    await using open = await serving(agent(), { origins: ["https://app.example"] });
    const own = await rawRequest(open.server, list, { origin: open.server.url });
    expect(own.status).toBe(200);
    expect(own.headers["access-control-allow-origin"]).toBeUndefined();
    const other = await rawRequest(open.server, list, { origin: "https://app.example" });
    expect(other.headers).toMatchObject({
      "access-control-allow-origin": "https://app.example",
      vary: "Origin",
    });
    const sub = await rawRequest(open.server, list, { origin: "https://x.app.example" });
    expect(sub.status).toBe(403);
  });

  it("lets pages of those origins send cookies and further headers where options say so", async () => {
    const origins = ["https://app.example"];
    const from = { origin: "https://app.example" };
    await using plain = await serving(agent(), { origins });
    const refused = await rawRequest(plain.server, list, from, "OPTIONS");
    expect(refused.headers["access-control-allow-credentials"]).toBeUndefined();
    expect(refused.headers["access-control-allow-headers"]).not.toContain("x-csrf");
    await using open = await serving(agent(), {
      origins,
      credentials: true,
      allowHeaders: ["x-csrf"],
    });
    const preflight = await rawRequest(open.server, list, from, "OPTIONS");
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": "https://app.example",
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers":
        "authorization, content-type, idempotency-key, last-event-id, x-csrf",
    });
    const [answer, stranger, own] = [
      await rawRequest(open.server, list, from),
      await rawRequest(open.server, list, { origin: "https://evil.example" }),
      await rawRequest(open.server, list),
    ];
    expect(answer.headers["access-control-allow-credentials"]).toBe("true");
    for (const { headers } of [stranger, own])
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    for (const useless of [{ credentials: true }, { allowHeaders: ["x-csrf"] }])
      expect(() => createServer(open.runtime, useless)).toThrow(/`origins` names none/);
  });

  it("refuses a form of another page: it cannot post JSON", async () => {
    await using open = await serving(agent(), { token: false });
    const answer = await fetch(`${open.server.url}/api/sessions`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: JSON.stringify({ id: "forged" }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([415, { code: "INVALID_INPUT" }]);
    expect(await open.runtime.log.revision("forged")).toBe(0);
  });
});

describe("the token", () => {
  it("is made, and every route but the health checks needs it", async () => {
    await using open = await serving(agent());
    expect(open.server.token).toMatch(/^[\w-]{43}$/);
    const wrong = `${open.server.token?.slice(0, -1)}!`;
    for (const authorization of ["", "Bearer ", `Bearer ${wrong}`, `Basic ${open.server.token}`]) {
      for (const path of [list, "/api/approvals", "/openapi.json", "/nothing"]) {
        const answer = await rawRequest(open.server, path, { authorization });
        expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
      }
    }
    for (const path of ["/healthz", "/readyz"])
      expect((await rawRequest(open.server, path, { authorization: "" })).status).toBe(200);
  });

  it("is refused in a URL, right or wrong", async () => {
    await using open = await serving(agent());
    for (const query of ["token=x", "access_token=x", `q=${open.server.token}`]) {
      const answer = await open.ask(`${list}?${query}`);
      expect([answer.status, await answer.text()]).toMatchObject([
        400,
        expect.stringContaining("does not belong in a URL"),
      ]);
    }
  });

  it("may be left out on this machine only", async () => {
    await using runtime = await createRuntime({ memory: true, agent: agent() });
    await expect(
      serveNode(runtime, { token: false, host: "0.0.0.0", port: 0 }),
    ).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(() => createServer(runtime, { token: false, hosts: ["app.example"] })).toThrow(
      /lets in everybody/,
    );
  });
});

describe("the accounts of an application", () => {
  it("keep the sessions of one user from another", async () => {
    await using open = await serving(agent(), {
      authorize: ({ headers }, { session, action }) => {
        const user = headers.get("x-user") ?? "nobody";
        return (session === undefined ? action === "list" : session.startsWith(`${user}-`))
          ? { actor: user, audience: "operator" }
          : false;
      },
    });
    const as = (user: string) => ({ headers: { "x-user": user } });
    await open.runtime.session("ann-1");
    await open.runtime.session("bob-1");
    expect(await open.json(`${list}?empty=true`, as("ann"))).toMatchObject({
      sessions: [{ session: "ann-1" }],
    });
    expect((await open.ask("/api/sessions/ann-1", as("ann"))).status).toBe(200);
    for (const path of ["", "/events", "/export", "/prompt", "/approvals", "/queue"]) {
      const answer = await open.ask(`/api/sessions/ann-1${path}`, as("bob"));
      expect([answer.status, await answer.json()], path).toMatchObject([
        403,
        { code: "FORBIDDEN" },
      ]);
    }
    const stolen = { body: { message: "x" }, ...as("bob") };
    expect((await open.ask("/api/sessions/ann-1/queue", stolen)).status).toBe(403);
    const approval = { body: { approved: true }, ...as("bob") };
    expect((await open.ask("/api/approvals/ann-1~1~1~c~1", approval)).status).toBe(403);
    expect((await open.ask("/api/sessions/ann-1", { method: "DELETE", ...as("bob") })).status).toBe(
      403,
    );
    for (const act of ["fork", "rerun"]) {
      const into = { body: { id: "bob-2" }, ...as("ann") };
      expect((await open.ask(`/api/sessions/ann-1/${act}`, into)).status, act).toBe(403);
    }
    expect(await open.runtime.log.revision("ann-1")).toBe(1);
    expect(await open.runtime.log.revision("bob-2")).toBe(0);
  });
});

describe("the tenants of an application", () => {
  const tenants = (): ServeOptions => ({
    authorize: ({ headers }) => {
      const tenant = headers.get("x-tenant");
      if (tenant === null) return null;
      return { actor: `${tenant}'s clerk`, where: { tenant }, audience: "operator" };
    },
  });
  const as = (tenant: string) => ({ headers: { "x-tenant": tenant } });
  const posted = (tenant: string, body: unknown) => ({ body, ...as(tenant) });

  it("see their own sessions only, by any route", async () => {
    await using open = await serving(agent(), tenants());
    expect((await open.ask(list)).status).toBe(401);
    const created = await open.json(list, posted("acme", { id: "a-1", metadata: { plan: "pro" } }));
    expect(created).toMatchObject({ session: "a-1" });
    await open.json(list, posted("bolt", { id: "b-1" }));
    await open.runtime.session("nobody's");
    const { summary } = await (await open.runtime.session("a-1")).view();
    expect(summary.metadata).toEqual({ plan: "pro", tenant: "acme" });
    const listed = async (query: string) =>
      await open.json(`${list}?empty=true${query}`, as("acme"));
    expect(await listed("")).toMatchObject({ sessions: [{ session: "a-1" }] });
    const where = (metadata: object) => `&where=${encodeURIComponent(JSON.stringify(metadata))}`;
    expect(await listed(where({ plan: "pro" }))).toMatchObject({ sessions: [{ session: "a-1" }] });
    expect(await listed(where({ tenant: "bolt" }))).toEqual({ sessions: [] });
    for (const path of ["", "/events", "/export", "/prompt", "/approvals", "/queue"])
      for (const id of ["b-1", "nobody's"])
        expect((await open.ask(`/api/sessions/${id}${path}`, as("acme"))).status, path).toBe(404);
    const message = posted("acme", { message: "x" });
    expect((await open.ask("/api/sessions/b-1/queue", message)).status).toBe(404);
    expect((await open.ask("/api/sessions/a-1/queue", message)).status).toBe(202);
    const chat = { id: "b-1", messages: [{ id: "m", role: "user", parts: [] }] };
    expect((await open.ask("/api/chat", posted("acme", chat))).status).toBe(404);
    const end = { method: "DELETE", ...as("acme") };
    expect((await open.ask("/api/sessions/b-1", end)).status).toBe(404);
    expect(await open.runtime.log.revision("b-1")).toBe(1);
  });

  it("create no session that another one would see, by an import neither", async () => {
    await using open = await serving(agent(), tenants());
    const other = posted("acme", { id: "a-1", metadata: { tenant: "bolt" } });
    expect((await open.ask(list, other)).status).toBe(403);
    expect((await open.ask("/api/sessions/a-2/import", posted("acme", {}))).status).toBe(403);
    const forked = posted("acme", { id: "b-1" });
    await open.json(list, posted("acme", { id: "a-3" }));
    await open.json(list, forked);
    expect((await open.ask("/api/sessions/a-3/fork", posted("bolt", {}))).status).toBe(404);
    const names = (await Array.fromAsync(open.runtime.log.list())).map(({ session }) => session);
    expect(names).toEqual(["a-3", "b-1"]);
  });

  it("keep what they fork from a position at which it was another one's", async () => {
    await using open = await serving(agent(), { ...tenants(), studio: true });
    const session = await open.runtime.session("s", { metadata: { tenant: "bolt", plan: "pro" } });
    await (
      await session.send("Hello.")
    ).result;
    const events = await Array.fromAsync(open.runtime.log.read("s"));
    const position = events.find(({ type }) => type === "step.started")?.position;
    await session.setMetadata({ tenant: "acme" });
    for (const [index, path] of [
      "/api/sessions/s/fork",
      "/api/sessions/s/rerun",
      "/api/studio/sessions/s/rerun",
    ].entries()) {
      const id = `f-${index}`;
      const body = path.includes("studio") ? { position } : { position, id };
      const made = z
        .object({ session: z.string() })
        .parse(await open.json(path, posted("acme", body)));
      const at = `/api/sessions/${made.session}`;
      expect((await open.ask(at, as("acme"))).status, path).toBe(200);
      expect((await open.ask(at, as("bolt"))).status, path).toBe(404);
      const { metadata } = (await (await open.runtime.session(made.session)).view()).summary;
      expect(metadata, path).toEqual({ tenant: "acme", plan: "pro" });
    }
  });

  it("follow no session that another one creates under its name, or that changes hands", async () => {
    await using open = await serving(agent(), { ...tenants(), studio: true });
    const call = async (body: unknown): Promise<Response> =>
      await open.ask("/api/log", posted("acme", body));
    const session = await open.runtime.session("a-1", { metadata: { tenant: "acme" } });
    const early = await call({ call: "subscribe", session: "b-1", from: 1 });
    const own = [
      await call({ call: "subscribe", session: "a-1", from: 1 }),
      await open.ask("/api/sessions/a-1/events", as("acme")),
      await open.ask("/api/studio/sessions/a-1/events", as("acme")),
    ];
    const all = await call({ call: "subscribeAll", from: 1 });
    const other = await open.runtime.session("b-1", { metadata: { tenant: "bolt" } });
    await session.setMetadata({ tenant: "bolt" });
    await (await other.send("a secret")).result.catch(() => {});
    await (await session.send("a secret")).result.catch(() => {});
    // The stream over all sessions continues.
    await open.runtime.session("a-2", { metadata: { tenant: "acme" } });
    let text = "";
    for await (const piece of all.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes("a-2")) break;
    }
    const followed = await Promise.all([early, ...own].map(async (one) => await one.text()));
    for (const stream of followed) expect(stream).toContain("SESSION_NOT_FOUND");
    for (const stream of [text, ...followed]) expect(stream).not.toMatch(/a secret|bolt/);
  });

  it("learn no names of deleted sessions or of blobs from the log", async () => {
    await using open = await serving(agent(), {
      // A list has no session, so `authorize` may limit what is read of each alone.
      authorize: (_, { session }) => ({
        audience: "operator",
        ...(session === undefined ? {} : { where: { tenant: "acme" } }),
      }),
    });
    await open.runtime.session("b-1", { metadata: { tenant: "bolt" } });
    await open.runtime.delete("b-1");
    const deleted = await open.ask("/api/log", { body: { call: "deleted" } });
    expect(await deleted.text()).toBe('{"end":true}\n');
    expect((await open.ask("/api/log", { body: { call: "blobs" } })).status).toBe(400);
  });

  it("are asked about once for a page, whatever sessions there are", async () => {
    let asked = 0;
    await using open = await serving(agent(), {
      authorize: () => ((asked += 1), { where: { tenant: "acme" } }),
    });
    for (let index = 0; index < 20; index++)
      await open.runtime.session(`s-${index}`, { metadata: { tenant: `t-${index % 2}` } });
    await open.runtime.session("own", { metadata: { tenant: "acme" } });
    expect(await open.json(`${list}?empty=true`)).toMatchObject({ sessions: [{ session: "own" }] });
    expect(await open.json("/api/approvals")).toEqual({ waiting: [] });
    expect(asked).toBe(2);
  });

  it("are refused where `authorize` answers what the server does not know", async () => {
    const onError = (): void => {};
    const nobody: { readonly tenant?: string } = {};
    for (const answer of [
      // A key that has no meaning.
      { tenants: "a" },
      // What is missing must not mean everybody's.
      { tenant: nobody.tenant },
      { where: { tenant: nobody.tenant } },
      { tenant: "/" },
    ]) {
      // @ts-expect-error The types refuse most of them.
      const options: ServeOptions = { authorize: () => answer, onError };
      await using open = await serving(agent(), options);
      expect((await open.ask(list)).status).toBe(500);
    }
  });
});

describe("too much", () => {
  it("refuses a body of 1 GB without reading it, declared or not", async () => {
    await using open = await serving(agent(), { limits: { bodyBytes: 1_000 } });
    const declared = await rawRequest(
      open.server,
      "/api/sessions",
      { "content-length": "1000000000", "content-type": "application/json" },
      "POST",
    ).catch(() => ({ status: "the connection was closed" }));
    expect([413, "the connection was closed"]).toContain(declared.status);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536;
        if (sent > 1_000_000_000) controller.close();
        else controller.enqueue(new Uint8Array(65_536));
      },
    });
    const request = new Request("http://localhost/api/sessions", {
      method: "POST",
      headers: {
        authorization: `Bearer ${open.server.token}`,
        "content-type": "application/json",
      },
      body: endless,
      duplex: "half",
    });
    const core = createServer(open.runtime, { token: open.server.token ?? "" });
    const answer = await core.fetch(request);
    const problem: unknown = await answer.json();
    expect([answer.status, problem]).toMatchObject([413, { code: "REQUEST_TOO_LARGE" }]);
    expect(problem).toHaveProperty(
      "detail",
      expect.stringContaining("Send less; a program that serves may raise `limits.bodyBytes`"),
    );
    expect(sent).toBeLessThan(30_000_000);
  });

  it("refuses what comes after the limits of one client, and says when to come back", () => {
    let now = 60_000;
    const limit = new RateLimit({ requestsPerMinute: 3, openAnswers: 2 }, () => now);
    const first = limit.enter("ann");
    limit.enter("ann");
    expect(() => limit.enter("ann")).toThrow(/open answers/);
    limit.enter("bob")[Symbol.dispose]();
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    limit.enter("ann")[Symbol.dispose]();
    now += 45_000;
    const refused = (): unknown => limit.enter("ann");
    expect(refused).toThrow(expect.objectContaining({ details: { retryAfterSeconds: 15 } }));
    now += 15_000;
    limit.enter("ann");
    expect(() => limit.enter("ann")).toThrow(/open answers/);
  });

  it("is what docs/server.md says, unless an option says otherwise", () => {
    expect(serverSettings({ limits: { openAnswers: 1 } }).limits).toEqual({
      bodyBytes: 25_000_000,
      frameBytes: 1_000_000,
      openAnswers: 1,
      requestsPerMinute: 12_000,
    });
    expect(serverSettings({}).limits.openAnswers).toBe(2_000);
  });

  it("answers 429 with Retry-After, and continues when streams are closed", async () => {
    await using open = await serving(agent(), { limits: { openAnswers: 1 } });
    await open.runtime.session("s");
    const leaving = new AbortController();
    const stream = await open.ask("/api/sessions/s/events", { signal: leaving.signal });
    expect(stream.status).toBe(200);
    const refused = await open.ask(list);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    leaving.abort();
    await eventually(async () => expect((await open.ask(list)).status).toBe(200));
  });

  it("closes connections beyond the limit, and a request that never ends", async () => {
    await using open = await serving(agent(), { connections: 2, requestMs: 500 });
    const slow = await Promise.all([1, 2].map(() => halfARequest(open.server.port)));
    const third = connect(open.server.port, "127.0.0.1");
    third.on("error", () => {});
    await once(third, "close");
    const answers = await Promise.all(slow.map(textOf));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect((await open.ask(list)).status).toBe(200);
  });

  it("refuses a flood of headers", async () => {
    await using open = await serving(agent());
    const answer = await rawRequest(open.server, list, { "x-flood": "x".repeat(40_000) });
    expect(answer.status).toBe(431);
  });

  it("refuses ids that are paths", async () => {
    await using open = await serving(agent());
    for (const id of ["..%2F..%2Fx", "%00", "a%2Fb", ".hidden", "x".repeat(200)]) {
      const answer = await open.ask(`/api/sessions/${id}`);
      expect([400, 404], id).toContain(answer.status);
    }
    expect(await Array.fromAsync(open.runtime.log.list())).toEqual([]);
  });
});

it("says the version of the protocol on every answer, and nothing to sniff", async () => {
  await using open = await serving(agent());
  for (const path of [list, "/nothing", "/healthz", "/openapi.json", "/api/sessions/none"]) {
    const { headers } = await open.ask(path);
    expect([headers.get("turnlog-protocol"), headers.get("x-content-type-options")], path).toEqual([
      "1",
      "nosniff",
    ]);
  }
});

it("describes every route in OpenAPI 3.1, made of its schemas", async () => {
  await using open = await serving(agent());
  const operation = z.object({
    parameters: z.array(z.object({ name: z.string(), required: z.boolean() })),
    requestBody: z.unknown().optional(),
  });
  const description = z.object({
    openapi: z.literal("3.1.0"),
    paths: z.record(z.string(), z.record(z.string(), operation)),
  });
  const { paths } = description.parse(await open.json("/openapi.json"));
  expect(paths["/api/sessions"]?.["get"]?.parameters).toContainEqual({
    name: "limit",
    required: false,
  });
  expect(JSON.stringify(paths["/api/sessions/{session}/rewind"])).toContain("beforeMessage");
  expect(paths["/api/chat"]?.["post"]?.requestBody).toBeDefined();
});

it("answers a wrong method of every route with 405 and those that it has", async () => {
  await using open = await serving(agent(), { studio: true });
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(await open.json("/openapi.json"));
  for (const [path, methods] of Object.entries(paths)) {
    const answer = await open.ask(path.replaceAll(/\{\w+\}/g, "x"), { method: "PUT" });
    expect([answer.status, await answer.json()], path).toMatchObject([
      405,
      { code: "METHOD_NOT_ALLOWED" },
    ]);
    const allow = answer.headers.get("allow")?.toLowerCase().split(", ");
    const others = "get" in methods ? ["head", "options"] : ["options"];
    expect(allow, path).toEqual(expect.arrayContaining([...Object.keys(methods), ...others]));
  }
  expect((await open.ask("/nothing", { method: "PUT" })).status).toBe(404);
  const unknown = await open.ask("/api/sessions", {
    method: "PUT",
    headers: { authorization: "" },
  });
  expect(unknown.status).toBe(401);
});

async function halfARequest(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
  return socket;
}

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {});
  await once(socket, "close");
  return text;
}
