/** Tenants and audiences: what each route answers to whom. A new route is in the table, so it is tried here too. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, memoryBlobs, type Runtime } from "../../src/public/index.ts";
import { createServer, type Server } from "../../src/public/server.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling } from "../support/script.ts";
import { filledRequest, post, requestTo, table, type Authorize } from "./route-table.ts";
import type { ServerOptions } from "../../src/server/index.ts";

const SECRET = "SECRET-ANN";
/** What a chat answers that does not exist. */
const NO_MESSAGES = '{"messages":[],"versions":[],"more":false,"position":0,"queue":[]}';

/** Who asks, by a header as a cookie would say it: `tenant user audience`. */
const authorize: Authorize = ({ headers }) => {
  const [tenant, user, audience] = (headers.get("x-login") ?? "").split(" ");
  if (tenant === undefined || user === undefined) return null;
  const isOperator = audience === "operator";
  return { actor: user, tenant, ...(isOperator ? { audience } : {}) };
};
/** The same without ids of a tenant's own: the sessions of others have other metadata. */
const byMetadata: Authorize = async (request, asked) => {
  const granted = await authorize(request, asked);
  if (typeof granted !== "object" || granted === null) return granted;
  const { tenant = "", ...rest } = granted;
  return { ...rest, where: { tenant } };
};

/** A product with one session of acme, `s`, whose call waits for an approval, with a file. */
async function product(options: ServerOptions = { authorize }): Promise<Product> {
  const store = memoryBlobs();
  const runtime = await createRuntime({
    memory: true,
    indexed: ["tenant"],
    blobs: { store },
    agent: {
      model: scriptedModel(() => calling(call("pay", "c"))),
      tools: { pay: tool({ inputSchema: z.object({}), execute: () => SECRET }) },
      toolApproval: { pay: "user-approval" },
    },
  });
  const server = createServer(runtime, { token: false, studio: true, ...options });
  const isTenantsOwn = options.authorize === authorize;
  const session = isTenantsOwn ? "acme/s" : "s";
  const owned = await runtime.session(session, { metadata: { tenant: "acme" } });
  const picture = Buffer.alloc(40_000, `${SECRET} picture `);
  const file = { type: "file", data: picture, mediaType: "application/octet-stream" } as const;
  await owned.send([{ type: "text", text: SECRET }, file], { id: "m" });
  await owned.atRest();
  const { approvals } = await owned.view();
  const [sha256 = ""] = await Array.fromAsync(store.list(), (one) => one.sha256);
  const approvalId = approvals[0]?.approvalId ?? "";
  const params = { session: "s", messageId: "m", toolName: "pay", digest: sha256 };
  return {
    runtime,
    server,
    session,
    params: { ...params, approvalId, requestId: approvalId },
    async [Symbol.asyncDispose]() {
      server.close();
      await runtime.close();
    },
  };
}

interface Product extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly server: Server;
  /** In the store. */
  readonly session: string;
  readonly params: Readonly<Record<string, string>>;
}

function as(login: string, request: Request): Request {
  if (login !== "") request.headers.set("x-login", login);
  return request;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

/** The whole answer, or the beginning of one that continues. */
async function answerOf({ server }: Product, request: Request): Promise<Answered> {
  const { status, body } = await server.fetch(request);
  let text = "";
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    // Nothing more comes of a stream that is quiet for a whole turn of the event loop, some times over.
    const next = await Promise.race([reader?.read(), quiet()]);
    if (next === undefined || next.done) break;
    text += next.value;
  }
  await reader?.cancel();
  return { status, text };
}

async function quiet(): Promise<undefined> {
  for (let turns = 0; turns < 20; turns++)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  return undefined;
}

/** The routes of pages and of operators: those of a store are for processes of its user, without `authorize`. */
const routes = table.filter(([route]) => !route.includes(" /store/"));

function isRead(route: string): boolean {
  return route.startsWith("GET ");
}

/** A request to a route about a session under another name, where it is about one. */
function named(route: string, body: unknown, params: Product["params"], session: string): Request {
  const text = JSON.stringify(body)?.replaceAll('"s"', JSON.stringify(session));
  const path = route.replace("sessionId=s", `sessionId=${session}`);
  return filledRequest(path, text && (JSON.parse(text) as unknown), { ...params, session });
}

describe("a tenant learns nothing of another's session", () => {
  it.each([
    ["with ids of its own", authorize],
    ["with the ids of all", byMetadata],
  ])("by any route, read or written, %s", async (_, deciding) => {
    const isOwn = deciding === authorize;
    await using read = await product({ authorize: deciding });
    for (const [route, , action, about, body] of routes) {
      // What may change something gets a product of its own.
      await using changed = isRead(route) ? undefined : await product({ authorize: deciding });
      const open = changed ?? read;
      const before = await Array.fromAsync(open.runtime.log.read(open.session));
      const login = "bolt bob operator";
      const foreign = await answerOf(open, as(login, named(route, body, open.params, "s")));
      expect(foreign.text, route).not.toContain(SECRET);
      const after = await Array.fromAsync(open.runtime.log.read(open.session));
      expect(after, route).toEqual(before);
      // Operators alone read the log, whose port says 0 of a session that it does not have.
      if (about === "all" || (!isOwn && route === "POST /api/log")) continue;
      const isAsked = route.includes("approvalId") || route.includes("requestId");
      const none = { ...open.params, approvalId: "t~1~1~c~1", requestId: "t~1~1~c~1" };
      const absent = await answerOf(open, as(login, named(route, body, none, "t")));
      // A name that all share is taken where it is not: what would create its session cannot.
      const creates = !isOwn && (action === "send" || action === "create") && absent.status < 300;
      expect(foreign.status, route).toBe(creates ? 404 : absent.status);
      if (creates || isAsked) continue;
      expect(alike(foreign.text, "s"), route).toBe(alike(absent.text, "t"));
    }
  });

  it("by a WebSocket, of the session or of chats", async () => {
    await using open = await product();
    const connect = async (login: string, session: string): Promise<Response> => {
      const url = `/ws?sessionId=${session}`;
      const socket = await open.server.upgrade(as(login, requestTo("GET", url)));
      if (!(socket instanceof Response)) throw new Error("It was admitted.");
      return socket;
    };
    const [foreign, absent] = [await connect("bolt bob", "s"), await connect("bolt bob", "t")];
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    const heard = await framesOf(open, "bolt bob", "/api/chat", {
      type: "resume",
      requestId: "r",
      id: "s",
      headers: {},
      body: {},
    });
    expect(heard).toEqual(['{"type":"no-active","requestId":"r"}']);
  });

  it("by a file, which is read and attached through a session that has it", async () => {
    await using open = await product();
    const { digest = "" } = open.params;
    const get = async (login: string, session: string): Promise<Answered> =>
      await answerOf(open, as(login, requestTo("GET", `/api/sessions/${session}/blobs/${digest}`)));
    const file = await get("acme ann", "s");
    expect([file.status, file.text.slice(0, SECRET.length)]).toEqual([200, SECRET]);
    for (const session of ["s", "acme%2Fs", "b"]) {
      expect((await get("bolt bob", session)).status, session).toBe(404);
      const url = `/api/sessions/${session}/blobs/${digest}`;
      const parts = [{ type: "file", mediaType: "image/png", url }];
      const body = { id: "b", messages: [{ id: "m1", role: "user", parts }] };
      expect((await answerOf(open, as("bolt bob", post("/api/chat", body)))).status).toBe(404);
    }
    expect(await open.runtime.log.revision("bolt/b")).toBe(0);
    const own = { type: "file", mediaType: "image/png", url: `/api/sessions/s/blobs/${digest}` };
    const sent = post("/api/sessions/s/queue", { message: [own] });
    expect((await answerOf(open, as("acme ann", sent))).status).toBe(202);
  });

  it("under an id that both use, and that one deletes", async () => {
    await using open = await product();
    const say = async (login: string, text: string): Promise<Answered> =>
      await answerOf(
        open,
        as(login, post("/api/sessions/s/queue", { message: text, delivery: "follow-up" })),
      );
    expect((await say("bolt bob", "Hello from bolt.")).status).toBe(202);
    const read = async (login: string): Promise<Answered> =>
      await answerOf(open, as(login, requestTo("GET", "/api/chat/s/messages")));
    expect((await read("bolt bob")).text).toContain("Hello from bolt.");
    expect((await read("acme ann")).text).not.toContain("bolt");
    const list = await answerOf(open, as("bolt bob", requestTo("GET", "/api/sessions")));
    expect(JSON.parse(list.text)).toMatchObject({ sessions: [{ session: "s" }] });
    await answerOf(open, as("acme ann", post("/api/chat/s/stop", {})));
    const end = await answerOf(open, as("acme ann", requestTo("DELETE", "/api/sessions/s")));
    expect(end.status).toBe(200);
    expect((await read("acme ann")).status).toBe(410);
    expect((await read("bolt bob")).status).toBe(200);
    expect((await read("cora cid")).text).toBe(NO_MESSAGES);
  });

  it("under ids that the server makes, of sessions and of forks", async () => {
    await using open = await product();
    const made = z.object({ session: z.string() });
    for (const path of ["/api/sessions", "/api/sessions/s/fork"]) {
      const { text } = await answerOf(open, as("acme ann", post(path, {})));
      const { session } = made.parse(JSON.parse(text));
      expect(await open.runtime.log.revision(`acme/${session}`), path).toBeGreaterThan(0);
    }
  });

  it("and keeps the sessions that it had before ids were its own", async () => {
    await using open = await product();
    await (await open.runtime.session("old", { metadata: { tenant: "acme" } })).send("Before.");
    const read = async (login: string): Promise<Answered> =>
      await answerOf(open, as(login, requestTo("GET", "/api/chat/old/messages")));
    expect((await read("acme ann")).text).toContain("Before.");
    expect((await read("bolt bob")).text).toBe(NO_MESSAGES);
  });
});

describe("a tenant learns nothing more", () => {
  it("from the log of all sessions, also by a session of its own that has the name of another's", async () => {
    await using open = await product();
    const login = "bolt bob operator";
    const read = async (): Promise<string> => {
      const asked = [
        { call: "readAll", from: 1 },
        { call: "subscribeAll", from: 1 },
        { call: "list", prefix: "" },
      ];
      const answers = asked.map(async (one) => answerOf(open, as(login, post("/api/log", one))));
      return (await Promise.all(answers)).map(({ text }) => text).join("");
    };
    const before = await read();
    expect(before).toContain('{"end":true}');
    expect(before).not.toContain("acme/s");
    const own = await answerOf(open, as(login, post("/api/sessions", { id: "acme/s" })));
    expect(own.status).toBe(201);
    const after = await read();
    expect(after).toContain('"bolt/acme/s"');
    expect(after).not.toContain('"acme/s"');
    expect(after).not.toContain(SECRET);
  });

  it("of a session from before that is another's now: its streams and its WebSocket end", async () => {
    await using open = await product();
    const old = await open.runtime.session("old", { metadata: { tenant: "acme" } });
    const follow = async (path: string): Promise<ReadableStreamDefaultReader<string>> => {
      const { body } = await open.server.fetch(as("acme ann", requestTo("GET", path)));
      if (body === null) throw new Error("No stream.");
      return body.pipeThrough(new TextDecoderStream()).getReader();
    };
    const readers = await Promise.all(
      ["/api/chat/old/stream?follow=true", "/api/chat/old/changes"].map(follow),
    );
    const socket = await open.server.upgrade(as("acme ann", requestTo("GET", "/ws?sessionId=old")));
    if (socket instanceof Response) throw new Error(await socket.text());
    const frames: string[] = [];
    socket.open({ send: (text) => frames.push(text), close: () => frames.push("closed") });
    await old.setMetadata({ tenant: "bolt" });
    await old.send("Of bolt.", { id: "bolts" });
    for (const reader of readers) {
      let text = "";
      for (let next = await reader.read(); !next.done; next = await reader.read())
        text += next.value;
      expect(text).toContain("There is no session old");
      expect(text).not.toContain("reply-");
    }
    socket.message(JSON.stringify({ id: 1, type: "send", payload: { message: "x" } }));
    await eventually(() => expect(frames.join("")).toContain("SESSION_NOT_FOUND"));
    await open.server.revoke({ tenant: "acme" });
    expect(frames.at(-1)).toBe("closed");
  });

  it.each([
    ["with ids of the tenant", "acme"],
    ["with the ids of all", undefined],
  ])("%s, a user of those that others have or had", async (_, tenant) => {
    await using open = await product({
      authorize: () => ({ actor: "ann", where: { user: "ann" }, ...(tenant && { tenant }) }),
    });
    const beginning = tenant === undefined ? "" : `${tenant}/`;
    for (const id of ["there", "gone"]) {
      const metadata = { user: "bob", ...(tenant && { tenant }) };
      await open.runtime.session(`${beginning}${id}`, { metadata });
    }
    await open.runtime.delete(`${beginning}gone`);
    const url = (id: string) => `/api/sessions/${id}/blobs/${open.params["digest"]}`;
    const file = (id: string) => ({ type: "file", mediaType: "image/png", url: url(id) });
    const requests = [
      (id: string) => requestTo("GET", `/api/sessions/${id}/queue`),
      (id: string) => requestTo("DELETE", `/api/sessions/${id}`),
      (id: string) => requestTo("GET", url(id)),
      (id: string) => post("/api/sessions/mine/queue", { message: [file(id)] }),
    ];
    await answerOf(open, post("/api/sessions", { id: "mine" }));
    for (const request of requests) {
      const answer = async (id: string): Promise<string> =>
        JSON.stringify(await answerOf(open, request(id))).replaceAll(id, "<session>");
      const absent = await answer("none");
      expect(absent).toContain("404");
      expect(await answer("there")).toBe(absent);
      expect(await answer("gone")).toBe(absent);
    }
  });

  it("of forks that others have made, when it deletes", async () => {
    await using open = await product();
    await answerOf(open, as("acme ann", post("/api/chat/s/stop", {})));
    const fork = await (await open.runtime.session("acme/s")).fork({ id: "acme/incident" });
    await fork.setMetadata({ tenant: "acme", user: "eve" });
    const remove = async (query: string): Promise<Answered> =>
      await answerOf(open, as("acme ann", requestTo("DELETE", `/api/sessions/s${query}`)));
    const refused = await remove("");
    expect(refused.text).toContain("SESSION_HAS_FORKS");
    const deleted = await remove("?forks=copy");
    expect(deleted.status).toBe(200);
    expect(refused.text + deleted.text).not.toContain("incident");
  });

  it("where authorize names a user who is undefined", async () => {
    const odd: object = { where: { user: undefined } };
    await using open = await product({ authorize: () => odd, onError: () => {} });
    const answer = await answerOf(open, requestTo("GET", "/api/chat/acme%2Fs/messages"));
    expect(answer.text).toContain("CALLBACK_FAILED");
  });

  it("of inputs of tools that are hidden, in questions and their answers", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: {
        model: scriptedModel(() => calling(call("pay", "c", { card: SECRET }))),
        tools: { pay: tool({ inputSchema: z.object({ card: z.string() }), execute: () => 1 }) },
        toolApproval: { pay: "user-approval" },
      },
    });
    const server = createServer(runtime, {
      token: false,
      authorize: () => ({ actor: "ann" }),
      users: { hide: ["tool-data"] },
    });
    const session = await runtime.session("s");
    await session.send("x");
    await session.atRest();
    const id = (await session.view()).approvals[0]?.approvalId ?? "";
    const requests = [
      ...["/api/sessions", "/api/approvals", "/api/sessions/s/approvals"].map((path) =>
        requestTo("GET", path),
      ),
      post(`/api/approvals/${id}`, { approved: false }),
    ];
    for (const request of requests) {
      const text = await (await server.fetch(request)).text();
      expect(text).toContain('"input":{}');
      expect(text).not.toContain(SECRET);
    }
  });

  it("but authorize is always asked by the id that the client gave", async () => {
    const names = new Set<string | undefined>();
    await using open = await product({
      authorize: (_, { session }) => {
        names.add(session);
        return { tenant: "acme", audience: "operator" };
      },
    });
    const text = { type: "text", text: "Hello." };
    const message = { id: "m", role: "user", parts: [text] };
    await answerOf(open, post("/api/chat", { id: "new", message }));
    await answerOf(open, requestTo("GET", "/api/sessions/new/events"));
    await answerOf(open, requestTo("DELETE", "/api/sessions/new?cancel=true"));
    expect([...names]).toEqual(["new"]);
  });
});

describe("an audience is told", () => {
  it("by each route who may call it: the rest is 401, 403 and 404", async () => {
    const rows: string[] = [];
    await using read = await product();
    for (const [route, audience, , about, body] of routes) {
      const status = async (open: Product, login: string): Promise<number> =>
        (await answerOf(open, as(login, named(route, body, open.params, "s")))).status;
      const statusAlone = async (login: string): Promise<number> => {
        await using open = isRead(route) ? undefined : await product();
        return await status(open ?? read, login);
      };
      const none = await status(read, "");
      const user =
        audience === "user" ? await statusAlone("acme ann") : await status(read, "acme ann");
      const operator = await statusAlone("acme ann operator");
      const statuses = [
        none,
        user,
        operator,
        await status(read, `bolt${rows.length} bob operator`),
      ];
      expect(none, route).toBe(401);
      expect(user === 403, route).toBe(audience === "operator");
      // Whatever the route says to the made-up request, it is let in. A file has the metadata of its own tenant.
      expect(operator === 401 || operator === 403, route).toBe(route.includes("/import"));
      rows.push(`${route.padEnd(58)} ${about.padEnd(8)} ${statuses.join("  ")}\n`);
    }
    const head =
      "route, what it is about, and its answers to: nobody, a user, an operator, one of another tenant\n\n";
    await expect(head + rows.join("")).toMatchFileSnapshot("./who-may.txt");
  });

  it("by each frame of a WebSocket", async () => {
    await using open = await product();
    const asked = { approvalId: open.params["approvalId"], approved: true };
    const frames: Readonly<Record<string, object | undefined>> = {
      get_context_info: undefined,
      manual_compact: undefined,
      subscribe: undefined,
      send: { message: "x" },
      cancel: {},
      approve: asked,
    };
    const refused: string[] = [];
    for (const [type, payload] of Object.entries(frames)) {
      const [text = ""] = await framesOf(open, "acme ann", "/ws?sessionId=s", {
        id: 1,
        type,
        payload,
      });
      if (text.includes("FORBIDDEN")) refused.push(type);
    }
    expect(refused).toEqual(["get_context_info", "manual_compact", "subscribe"]);
  });
});

/** The frames of a connection, until the first answer to one. */
async function framesOf(
  { server }: Product,
  login: string,
  path: string,
  frame: object,
): Promise<readonly string[]> {
  const socket = await server.upgrade(as(login, requestTo("GET", path)));
  if (socket instanceof Response) throw new Error(await socket.text());
  const frames: string[] = [];
  socket.open({ send: (text) => frames.push(text), close: () => {} });
  socket.message(JSON.stringify(frame));
  await eventually(() => expect(frames.length).toBeGreaterThan(0));
  socket.close();
  return frames;
}

/** An answer without what names the session that was asked about, and without new ids. */
function alike(text: string, session: string): string {
  return text
    .replaceAll(new RegExp(`(?:\\b|bolt/|002f)${session}\\b`, "g"), "<session>")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\b\d{13}\b|"m"/g, "<new>");
}
