/** The log names the person who did something, by the name that `authorize` gives. */

import { once } from "node:events";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { SessionEvent } from "../../src/events/index.ts";
import { commands as catalogue } from "../../src/commands/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { encryptedLog, memoryKeys, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { nothing } from "../runtime/tools.ts";
import { call, calling, saying } from "../support/script.ts";
import { serving, type Serving } from "./serving.ts";

const authorize = ({ headers }: Request) => ({
  actor: headers.get("x-user") ?? "nobody",
  audience: "operator" as const,
});
const as = (user: string) => ({ headers: { "x-user": user } });

async function named(): Promise<Serving> {
  return await serving({ model: scriptedModel(() => "ok") }, { authorize });
}

/** The names in the log of session s, with what each did. */
async function doneBy({ runtime }: Serving): Promise<readonly (readonly [string, unknown])[]> {
  await (await runtime.session("s")).idle();
  const events = await Array.fromAsync(runtime.log.read("s"));
  return events.flatMap((event) => (isDone(event) ? [[event.type, event.data.by] as const] : []));
}

const commands = ["message.queued", "session.rewound", "turn.cancel-requested"] as const;

function isDone(event: SessionEvent): event is SessionEvent<(typeof commands)[number]> {
  return commands.some((type) => type === event.type);
}

const parts = (text: string) => [{ type: "text", text }];
const chat = (id: string, text: string, more: object = {}) => ({
  body: { id: "s", messages: [{ id, role: "user", parts: parts(text) }], ...more },
});

it("messages, edits, regenerations, rewinds and checkouts", async () => {
  await using open = await named();
  const path = "/api/sessions/s";
  const queue = (body: object, user: string) => open.ask(`${path}/queue`, { body, ...as(user) });
  await queue({ message: "one", id: "m1" }, "ann");
  await open.runtime.session("s").then((session) => session.idle());
  await queue({ message: "two", id: "m2", replaces: "m1" }, "bob");
  await open.ask(`${path}/regenerate`, { body: {}, ...as("cyd") });
  await open.runtime.session("s").then((session) => session.idle());
  await open.ask(`${path}/checkout`, { body: { branch: 1 }, ...as("dan") });
  await open.ask(`${path}/rewind`, { body: { beforeTurn: 1 }, ...as("eve") });
  expect(await doneBy(open)).toEqual([
    ["message.queued", "ann"],
    ["session.rewound", "bob"],
    ["message.queued", "bob"],
    ["session.rewound", "cyd"],
    ["session.rewound", "dan"],
    ["session.rewound", "eve"],
  ]);
});

it("what a chat, a message stream and a WebSocket send", async () => {
  await using open = await named();
  const { url, token } = open.server;
  await (await open.ask("/api/chat", { ...chat("m1", "one"), ...as("ann") })).text();
  await (
    await open.ask("/api/chat", { ...chat("m1", "1", { messageId: "m1" }), ...as("bob") })
  ).text();
  const again = { ...chat("m1", "1", { trigger: "regenerate-message" }), ...as("cyd") };
  await (await open.ask("/api/chat", again)).text();
  const streamed = { body: { sessionId: "s", message: "two" }, ...as("dan") };
  await (await open.ask("/api/message-stream", streamed)).text();
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?sessionId=s`, {
    headers: { authorization: `Bearer ${token}`, "x-user": "eve" },
  });
  await once(socket, "open");
  socket.send(JSON.stringify({ id: 1, type: "send", payload: { message: "three" } }));
  await once(socket, "message");
  socket.close();
  expect(await doneBy(open)).toEqual([
    ["message.queued", "ann"],
    ["session.rewound", "bob"],
    ["message.queued", "bob"],
    ["session.rewound", "cyd"],
    ["message.queued", "dan"],
    ["message.queued", "eve"],
  ]);
});

it("cancels, by each route", async () => {
  const model = scriptedModel((_, index) => (index < 3 ? saying("Hel", gate()) : "ok"));
  await using open = await serving({ model }, { authorize });
  const queue = "/api/sessions/s/queue";
  const running = async (user: string): Promise<void> => {
    await open.ask(queue, { body: { message: "one" }, ...as(user) });
  };
  const cancels = [
    ["/api/sessions/s/cancel", { reason: "enough" }],
    ["/api/chat/s/stop", {}],
    ["/api/message-cancel", { sessionId: "s" }],
  ] as const;
  for (const [path, body] of cancels) {
    await running("ann");
    await open.ask(path, { body, ...as("bob") });
  }
  expect(await doneBy(open)).toEqual(
    cancels.flatMap(() => [
      ["message.queued", "ann"],
      ["turn.cancel-requested", "bob"],
    ]),
  );
});

it("deletions", async () => {
  await using open = await named();
  await open.runtime.session("s");
  const answer = await open.ask("/api/sessions/s", { method: "DELETE", ...as("ann") });
  expect(answer.status).toBe(200);
  expect(await Array.fromAsync(open.runtime.log.deleted())).toEqual([
    { session: "s", revision: 1, by: "ann" },
  ]);
});

describe("each command that records who gave it", () => {
  /** A request for each. `busy`: while a turn waits for an approval and an output. */
  const rows: Readonly<Record<string, Row>> = {
    send: { path: "/queue", body: { message: "one" } },
    withdraw: { path: "/queue/later", method: "DELETE" },
    cancel: { path: "/cancel", body: {}, busy: true },
    allow: { path: "/allow", body: { tokens: 10_000 }, held: true },
    approve: { path: "/api/approvals/APPROVAL", body: { approved: true }, busy: true },
    deny: { path: "/api/approvals/APPROVAL", body: { approved: false }, busy: true },
    answerCall: { path: "/api/outputs/REQUEST", body: { output: 1 }, busy: true },
    compact: { path: "/compact", body: {} },
    rewind: { path: "/rewind", body: { beforeTurn: 2 } },
    checkout: { path: "/checkout", body: { branch: 1 } },
    regenerate: { path: "/regenerate", body: {} },
    setTitle: { path: "/title", body: { title: "A refund" } },
    markSeen: { path: "/seen", body: {} },
    redact: { path: "/redact", body: { what: 2 } },
  };
  interface Row {
    readonly path: string;
    readonly body?: object;
    readonly method?: string;
    readonly busy?: boolean;
    /** While a limit of spending holds the first turn. */
    readonly held?: boolean;
  }
  const agent: Agent = {
    model: scriptedModel(({ prompt }) =>
      JSON.stringify(prompt.at(-1)).includes("Act.")
        ? calling(call("ask", "c1"), call("act", "c2"))
        : "ok",
    ),
    tools: {
      ask: tool({ inputSchema: nothing }),
      act: tool({ inputSchema: nothing, execute: () => "acted" }),
    },
    toolApproval: { act: "user-approval" },
  };

  const recording = catalogue.filter(({ parameters }) =>
    parameters.some(({ fields = {} }) => "by" in fields),
  );

  it.each(recording)("$name", async ({ name }) => {
    const { path = "no row", busy, held, ...request } = rows[name] ?? {};
    const log = encryptedLog(await openMemoryLog(), memoryKeys());
    const limits = held === true ? { limits: { session: { tokens: 1, hold: true } } } : {};
    await using open = await serving(agent, { authorize }, { log, ...limits });
    const session = await open.runtime.session("s");
    await (await session.send("One.", { id: "m1" })).untilRest();
    if (held !== true) await (await session.send("Two.", { replaces: "m1" })).result;
    await session.send("Later.", { id: "later", notBefore: new Date("2100-01-01T00:00:00Z") });
    if (busy === true) await (await session.send("Act.")).untilRest();
    const { approvals, outputRequests, position } = await session.view();
    const given = (path.startsWith("/api") ? path : `/api/sessions/s${path}`)
      .replace("APPROVAL", encodeURIComponent(approvals[0]?.approvalId ?? ""))
      .replace("REQUEST", encodeURIComponent(outputRequests[0]?.requestId ?? ""));
    const answer = await open.ask(given, { ...request, ...as("ann") });
    expect(answer.ok, await answer.text()).toBe(true);
    const events = await Array.fromAsync(log.read("s", { from: position + 1 }));
    expect(events.map(({ data }) => Reflect.get(data, "by") as unknown)).toContain("ann");
  });
});

it("nobody where `authorize` gives no name", async () => {
  await using open = await serving({ model: scriptedModel(() => "ok") }, { authorize: () => true });
  await open.ask("/api/sessions/s/queue", { body: { message: "one" } });
  expect(await doneBy(open)).toEqual([["message.queued", undefined]]);
});

describe("`authorize` that reads the body", () => {
  const posted = { body: { message: "one" } };
  const asked = async (take: (request: Request) => Request) => {
    const authorize = async (request: Request) =>
      (await take(request).text()) !== "" && { audience: "operator" as const };
    const reported: string[] = [];
    const onError = (error: unknown): void => void reported.push(String(error));
    await using open = await serving({ model: scriptedModel(() => "ok") }, { authorize, onError });
    const answer = await open.ask("/api/sessions/s/queue", posted);
    return { status: answer.status, problem: await answer.json(), reported };
  };

  it("reads a copy", async () => {
    expect(await asked((request) => request.clone())).toMatchObject({ status: 202 });
  });

  it("fails the request if it takes the body from the route", async () => {
    const { status, problem, reported } = await asked((request) => request);
    expect(status).toBe(500);
    expect(problem).toMatchObject({ code: "CALLBACK_FAILED" });
    expect(reported.join()).toContain("Read `request.clone()` there.");
  });
});
