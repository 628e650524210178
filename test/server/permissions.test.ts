/** `authorize` decides on each request: it is asked for every act by its name, and what it refuses does not happen. */

import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import {
  createRuntime,
  type Agent,
  type Runtime,
  type Session,
  type StoreLog,
} from "../../src/public/index.ts";
import { createServer, type Server } from "../../src/public/server.ts";
import { serverCore } from "../../src/server/create-server.ts";
import { storeRoutes } from "../../src/server/store/index.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { containing } from "../runtime/tools.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling, saying } from "../support/script.ts";
import {
  asked,
  filledRequest,
  post,
  requestTo,
  table,
  type Action,
  type Authorize,
  type Requested,
} from "./route-table.ts";

const operator = { audience: "operator" } as const;

describe("every route asks `authorize` for its action, and answers 403 where it refuses", () => {
  const withAllRoutes = (runtime: Runtime, log: StoreLog, authorize: Authorize): Server =>
    serverCore(runtime, { token: false, studio: true, authorize }, storeRoutes(log)).server;

  it("by this table, which has all routes", async () => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
    const server = withAllRoutes(runtime, log, () => true);
    const description = await server.fetch(requestTo("GET", "/openapi.json"));
    const { paths } = z
      .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
      .parse(await description.json());
    const served = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const listed = new Set(table.map(([route]) => route.replace(/\?.*/, "")));
    expect(served.toSorted()).toEqual([...listed].toSorted());
  });

  it("and the session that it is about", async () => {
    const heard: Requested[] = [];
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
    const server = withAllRoutes(runtime, log, (_, requested) => {
      heard.push(requested);
      return false;
    });
    const answers: unknown[] = [];
    for (const [route, , , , body] of table) {
      const { status } = await server.fetch(filledRequest(route, body));
      answers.push([route, status, heard.splice(0)]);
    }
    expect(answers).toEqual(
      table.map(([route, , action, about]) => [
        route,
        403,
        [about === "all" ? { action } : { action, session: "s" }],
      ]),
    );
    expect(await Array.fromAsync(runtime.log.list())).toEqual([]);
  });
});

it("a server without an agent refuses what runs or changes something, whatever `authorize` says", async () => {
  const heard = new Set<Action>();
  await using runtime = await createRuntime({ memory: true, agent: { model: scriptedModel([]) } });
  const { fetch } = createServer(runtime, {
    token: false,
    studio: "read-only",
    authorize: (_, { action }) => {
      heard.add(action);
      return false;
    },
  });
  for (const [route, , , , body] of table) await fetch(filledRequest(route, body));
  expect(heard).toEqual(new Set<Action>(["list", "read", "export"]));
});

it("a WebSocket asks whether its session may be read, before it is open", async () => {
  const heard: Requested[] = [];
  await using runtime = await createRuntime({ memory: true, agent: { model: scriptedModel([]) } });
  await runtime.session("s");
  const { upgrade } = createServer(runtime, {
    token: false,
    authorize: (_, requested) => {
      heard.push(requested);
      return false;
    },
  });
  expect(await upgrade(requestTo("GET", "/ws?sessionId=s"))).toMatchObject({ status: 403 });
  expect(heard).toEqual([{ action: "read", session: "s" }]);
});

/** Session s with a turn that is over: m1, and its reply. */
const settled = async (runtime: Runtime): Promise<void> => {
  await (
    await (await runtime.session("s")).send("one", { id: "m1" })
  ).result;
};

const said = (id: string, text: string, more: object = {}) => ({
  id: "s",
  messages: [{ id, role: "user", parts: [{ type: "text", text }] }],
  ...more,
});

describe("an act within a request is asked for too, and does not happen if it is refused", () => {
  const quiet = (): Agent => ({ model: scriptedModel(() => "ok") });

  it.each<[what: string, refused: Requested, path: string, body: unknown]>([
    [
      "an edit of the queue's route",
      { action: "rewind", session: "s" },
      "/api/sessions/s/queue",
      { message: "two", replaces: "m1" },
    ],
    [
      "an edit under the id of the message",
      { action: "rewind", session: "s" },
      "/api/chat",
      said("m1", "two", { messageId: "m1" }),
    ],
    [
      "an edit by another message",
      { action: "rewind", session: "s" },
      "/api/chat",
      said("m2", "two", { messageId: "m1" }),
    ],
    [
      "another reply",
      { action: "rewind", session: "s" },
      "/api/chat",
      said("m1", "one", { trigger: "regenerate-message" }),
    ],
    [
      "the name of a fork",
      { action: "create", session: "other" },
      "/api/sessions/s/fork",
      { id: "other" },
    ],
    [
      "the name of a rerun",
      { action: "create", session: "other" },
      "/api/sessions/s/rerun",
      { id: "other" },
    ],
  ])("%s", async (_, refused, path, body) => {
    await using runtime = await createRuntime({ memory: true, agent: quiet() });
    await settled(runtime);
    const before = await runtime.log.revision("s");
    let may = false;
    const { fetch } = createServer(runtime, {
      token: false,
      authorize: (_request, { action, session }) =>
        (may || action !== refused.action || session !== refused.session) && operator,
    });
    const answer = await fetch(post(path, body));
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: "FORBIDDEN" }]);
    expect(await runtime.log.revision("s")).toBe(before);
    expect(await runtime.log.revision("other")).toBe(0);
    may = true;
    const allowed = await fetch(post(path, body));
    expect(allowed.status).toBeLessThan(300);
    await allowed.body?.cancel();
  });

  it("forgetting what a deleted session spent: for a user never, as it would give a limit back", async () => {
    const model = scriptedModel(["One.", "Two."]);
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    for (const id of ["a", "b"]) await (await (await runtime.session(id)).send("Go.")).result;
    let audience: "user" | "operator" = "user";
    const { fetch } = createServer(runtime, { token: false, authorize: () => ({ audience }) });
    const calls = async (): Promise<number | undefined> => (await runtime.bill())[0]?.calls;
    const asking = (path: string): Promise<Response> =>
      fetch(requestTo("DELETE", `/api/sessions/${path}`));
    expect((await asking("a?bill=forget")).status).toBe(403);
    expect((await asking("a")).status).toBe(200);
    expect(await calls()).toBe(2);
    audience = "operator";
    expect((await asking("b?bill=forget")).status).toBe(200);
    expect(await calls()).toBe(1);
  });

  it("the end of a turn whose session is deleted", async () => {
    const held = gate();
    const model = scriptedModel([saying("One ", held)]);
    await using runtime = await createRuntime({ memory: true, agent: { model }, graceMs: 1 });
    await (await runtime.session("s")).send("Go.");
    await held.reached;
    let may = false;
    const { fetch } = createServer(runtime, {
      token: false,
      authorize: (_request, { action }) => may || action !== "cancel",
    });
    const asking = (query: string): Promise<Response> =>
      fetch(requestTo("DELETE", `/api/sessions/s${query}`));
    expect((await asking("?cancel=true")).status).toBe(403);
    expect((await asking("?cancel=false")).status).toBe(409);
    may = true;
    expect((await asking("?cancel=true")).status).toBe(200);
    expect(await Array.fromAsync(runtime.log.list())).toEqual([]);
  });

  const part = (state: string, more: object) => ({
    type: "tool-x",
    toolCallId: "c",
    state,
    ...more,
  });

  it.each<[what: string, refused: Action, kind: "approval" | "output", part: object]>([
    [
      "an approval in a reply",
      "approve",
      "approval",
      part("approval-responded", { approval: { id: asked, approved: true } }),
    ],
    [
      "a denial in a reply",
      "deny",
      "approval",
      part("approval-responded", { approval: { id: asked, approved: false } }),
    ],
    ["an output in a reply", "answer", "output", part("output-available", { output: 1 })],
    ["the error of a call in a reply", "answer", "output", part("output-error", { errorText: "" })],
  ])("%s", async (_, refused, kind, answered) => {
    const inputSchema = z.object({});
    const tools: ToolSet =
      kind === "output"
        ? { x: tool({ inputSchema, outputSchema: z.number() }) }
        : { x: tool({ inputSchema, execute: () => 1 }) };
    await using runtime = await createRuntime({
      memory: true,
      agent: {
        model: scriptedModel(() => calling(call("x", "c"))),
        tools,
        ...(kind === "approval" ? { toolApproval: { x: "user-approval" } } : {}),
      },
    });
    const session = await runtime.session("s");
    await session.send("one", { id: "m1" });
    await session.atRest();
    const before = await runtime.log.revision("s");
    const { fetch } = createServer(runtime, {
      token: false,
      authorize: (_request, { action }) => action !== refused && operator,
    });
    const reply = { id: "reply-1", role: "assistant", parts: [answered] };
    const messages = [...said("m1", "one").messages, reply];
    const answer = await fetch(post("/api/chat", { id: "s", messages }));
    expect([answer.status, await answer.json()]).toMatchObject([
      403,
      { code: "FORBIDDEN", detail: containing(refused) },
    ]);
    expect(await runtime.log.revision("s")).toBe(before);
  });

  it.each<[action: Action, type: string, payload?: object]>([
    ["compact", "manual_compact"],
    ["send", "send", { message: "two" }],
    ["cancel", "cancel"],
    ["approve", "approve", { approvalId: asked, approved: true }],
    ["deny", "approve", { approvalId: asked, approved: false }],
  ])("`%s` over a WebSocket", async (refused, type, payload) => {
    await using runtime = await createRuntime({ memory: true, agent: quiet() });
    await settled(runtime);
    const before = await runtime.log.revision("s");
    const server = createServer(runtime, {
      token: false,
      authorize: (_request, { action }) => action !== refused && operator,
    });
    const socket = await server.upgrade(requestTo("GET", "/ws?sessionId=s"));
    if (socket instanceof Response) throw new Error(await socket.text());
    const frames: string[] = [];
    socket.open({ send: (text) => frames.push(text), close: () => {} });
    socket.message(JSON.stringify({ id: 1, type, payload }));
    await eventually(() => expect(frames).toHaveLength(1));
    socket.close();
    expect(JSON.parse(frames[0] ?? "")).toMatchObject({
      id: 1,
      type: "error",
      payload: { code: "FORBIDDEN" },
    });
    expect(await runtime.log.revision("s")).toBe(before);
  });
});

describe("a stream ends with the permission for it, before what comes then leaves", () => {
  type Follow = (server: Server) => Promise<AsyncIterable<string>>;
  const answered =
    (request: () => Request): Follow =>
    async ({ fetch }) => {
      const { body } = await fetch(request());
      if (body === null) throw new Error("There is no stream.");
      return body.pipeThrough(new TextDecoderStream());
    };
  const framed =
    (path: string, frame: object): Follow =>
    async ({ upgrade }) => {
      const socket = await upgrade(requestTo("GET", path));
      if (socket instanceof Response) throw new Error(await socket.text());
      const { readable, writable } = new TransformStream<string, string>();
      const writer = writable.getWriter();
      socket.open({
        send: (text) => {
          // One end of each subscription, and one of the pushes.
          void writer.write(text).catch(() => {});
        },
        close: () => {},
      });
      socket.message(JSON.stringify(frame));
      return readable;
    };

  const begun = async (session: Session): Promise<void> => void (await session.send("one"));
  const quiet = async (): Promise<void> => {};

  it.each<[what: string, begin: (session: Session) => Promise<void>, follow: Follow, ends: string]>(
    [
      [
        "the chat that a page follows",
        begun,
        answered(() => requestTo("GET", "/api/chat/s/stream?follow=true")),
        "[DONE]",
      ],
      ["a posted chat", quiet, answered(() => post("/api/chat", said("m1", "one"))), "[DONE]"],
      [
        "the message stream",
        quiet,
        answered(() => post("/api/message-stream", { sessionId: "s", message: "one" })),
        "llm:error",
      ],
      [
        "a chat over a WebSocket",
        begun,
        framed("/api/chat", { type: "resume", requestId: "r", id: "s", headers: {}, body: {} }),
        '"type":"end"',
      ],
      [
        "a subscription over a WebSocket",
        begun,
        framed("/ws?sessionId=s", { id: 1, type: "subscribe" }),
        '"type":"error"',
      ],
      [
        "the events",
        begun,
        answered(() => requestTo("GET", "/api/sessions/s/events")),
        "event: problem",
      ],
    ],
  )("%s", async (_, begin, follow, ends) => {
    const paused = gate();
    const model = scriptedModel(() => saying("early", paused, "late"));
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const session = await runtime.session("s");
    await begin(session);
    let may = true;
    const server = createServer(runtime, {
      token: false,
      authorize: async (request) => {
        // The body can be read each time.
        await request.clone().text();
        return may && operator;
      },
    });
    let heard = "";
    let isLost = false;
    for await (const text of await follow(server)) {
      heard += text;
      if (heard.includes("early") && !isLost) {
        isLost = true;
        may = false;
        await session.setMetadata({ owner: "somebody else" });
        paused.open();
      }
      if (heard.includes(ends) || heard.includes("late")) break;
    }
    expect(heard).toContain("You do not have the permission `");
    expect(heard).not.toContain("late");
    expect(heard).not.toContain("somebody else");
  });

  it("the changes of a chat", async () => {
    const agent: Agent = { model: scriptedModel([]) };
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("s");
    let may = true;
    const server = createServer(runtime, { token: false, authorize: () => may });
    let heard = "";
    for await (const text of await answered(() => requestTo("GET", "/api/chat/s/changes"))(
      server,
    )) {
      heard += text;
      if (may) {
        may = false;
        await session.setMetadata({ owner: "somebody else" });
      }
      if (heard.includes("problem")) break;
    }
    expect(heard).toMatch(/^id: 1\ndata: 1\n\nevent: problem\ndata: .*FORBIDDEN/);
  });

  it("and breaks off, to be resumed, where `authorize` fails, which the server reports", async () => {
    const paused = gate();
    const model = scriptedModel(() => saying("early", paused, "late"));
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const session = await runtime.session("s");
    await session.send("one");
    const away = new Error("The accounts are away.");
    let isAway = false;
    const errors: unknown[] = [];
    const { fetch } = createServer(runtime, {
      token: false,
      authorize: () => {
        if (isAway) throw away;
        return operator;
      },
      onError: (error) => errors.push(error),
    });
    let heard = "";
    const { body } = await fetch(requestTo("GET", "/api/chat/s/stream"));
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      heard += text;
      if (!heard.includes("early") || isAway) continue;
      isAway = true;
      await session.setMetadata({ owner: "ann" });
      paused.open();
    }
    expect(errors).toEqual([away]);
    expect(heard).not.toMatch(/late|error|DONE/);
    isAway = false;
    const after = [...heard.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
    const rest = await fetch(requestTo("GET", `/api/chat/s/stream?turn=1&after=${after}`));
    expect(await rest.text()).toMatch(/late.*DONE/s);
  });
});
