/** What an end user is told of failures and figures, how a permission that ends is noticed, and whom limits count. */

import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Agent, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { OpenAnswers } from "../../src/server/streams/open-answers.ts";
import { eventually } from "../support/eventually.ts";
import { call, saying } from "../support/script.ts";
import { post, requestTo } from "./route-table.ts";
import type { ServerOptions } from "../../src/server/index.ts";

const WORDS = "connect postgres://app:hunter2@10.0.0.5/prod failed";

/** Thinks, calls a tool that fails, and fails itself. */
const failing = (): Agent => ({
  model: scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "user"
      ? { parts: [{ type: "reasoning", deltas: ["I wonder."] }, call("db", "c", { sql: "1" })] }
      : { parts: [{ type: "error", error: new Error(WORDS) }] },
  ),
  tools: {
    db: tool({
      inputSchema: z.object({ sql: z.string() }),
      execute: (): string => {
        throw new Error(WORDS);
      },
    }),
  },
  maxRetries: 0,
});

const user: ServerOptions = { token: false, authorize: () => ({ actor: "ann" }) };
const chat = {
  id: "s",
  messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }],
};
const messages = z.object({
  messages: z.array(z.looseObject({ metadata: z.looseObject({ error: z.string().optional() }) })),
});

async function seen(options: ServerOptions, agent = failing()): Promise<readonly string[]> {
  await using runtime = await createRuntime({ memory: true, agent });
  const { fetch } = createServer(runtime, options);
  const streamed = await (await fetch(post("/api/chat", chat))).text();
  const loaded = await (await fetch(requestTo("GET", "/api/chat/s/messages"))).text();
  const { length } = messages.parse(JSON.parse(loaded)).messages;
  const again = await (
    await fetch(post("/api/message-stream", { sessionId: "t", message: "Hi" }))
  ).text();
  expect(length).toBe(2);
  return [streamed, loaded, again];
}

describe("a failure of a tool and of the provider", () => {
  it("keeps its words from a user, streamed and after a reload, and names its place in the log", async () => {
    await using runtime = await createRuntime({ memory: true, agent: failing() });
    const { fetch } = createServer(runtime, user);
    const streamed = await (await fetch(post("/api/chat", chat))).text();
    const loaded = await (await fetch(requestTo("GET", "/api/chat/s/messages"))).text();
    const events = await Array.fromAsync(runtime.log.read("s"));
    const positionOf = (type: string): number | undefined =>
      events.find((event) => event.type === type)?.position;
    for (const text of [streamed, loaded]) {
      expect(text).not.toContain("hunter2");
      for (const type of ["tool.failed", "turn.ended"])
        expect(text).toContain(`An error occurred. Reference: s@${positionOf(type)}.`);
    }
    expect(messages.parse(JSON.parse(loaded)).messages.at(-1)?.metadata.error).toBe(
      `An error occurred. Reference: s@${positionOf("turn.ended")}.`,
    );
  });

  it("keeps them from every stream, and is shown to an operator", async () => {
    for (const text of await seen(user)) expect(text).not.toContain("hunter2");
    for (const text of await seen({ token: false })) expect(text).toContain("hunter2");
  });

  it("says what `errorText` says", async () => {
    const errorText = ({ session, position }: { session: string; position: number }) =>
      position > 1 ? `Call us about ${session}.` : undefined;
    const [streamed = "", loaded = ""] = await seen({ ...user, users: { errorText } });
    for (const text of [streamed, loaded]) expect(text).toContain("Call us about s.");
  });

  it("of a request has a reference that the operator gets too", async () => {
    const told: unknown[] = [];
    const entries: { readonly reference?: string }[] = [];
    await using runtime = await createRuntime({ memory: true, agent: failing() });
    const { fetch } = createServer(runtime, {
      token: false,
      authorize: () => {
        throw new Error(WORDS);
      },
      onError: (error, about) => told.push([String(error), about?.reference]),
      onRequest: (entry) => entries.push(entry),
    });
    const answer = await fetch(requestTo("GET", "/api/sessions"));
    const problem = z
      .object({ status: z.literal(500), detail: z.string(), reference: z.string() })
      .parse(await answer.json());
    expect(problem.detail).toBe(`An error occurred. Reference: ${problem.reference}.`);
    expect(told).toEqual([[`Error: ${WORDS}`, problem.reference]]);
    expect(entries).toMatchObject([{ reference: problem.reference }]);
  });
});

describe("a user is not shown what is hidden", () => {
  const agent = (): Agent => ({
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "user"
        ? { parts: [{ type: "reasoning", deltas: ["THOUGHT"] }, call("db", "c", { sql: "INPUT" })] }
        : saying("Done."),
    ),
    tools: { db: tool({ inputSchema: z.looseObject({}), execute: () => "OUTPUT" }) },
  });
  const marks = /THOUGHT|INPUT|OUTPUT|"model"|"usage"|promptTokens/g;
  const marksIn = (texts: readonly string[]): readonly string[] =>
    [
      ...new Set(texts.flatMap((text) => [...text.matchAll(marks)].map(([mark]) => mark))),
    ].toSorted();

  it.each<[hide: NonNullable<ServerOptions["users"]>["hide"], left: readonly string[]]>([
    [undefined, ["INPUT", "OUTPUT", "THOUGHT"]],
    [[], ['"model"', '"usage"', "INPUT", "OUTPUT", "THOUGHT", "promptTokens"]],
    [["reasoning", "tool-data", "usage", "model"], []],
    [
      ["tool-data", "model"],
      ['"usage"', "THOUGHT", "promptTokens"],
    ],
  ])("of a reply: %j", async (hide, left) => {
    const options = { ...user, ...(hide === undefined ? {} : { users: { hide } }) };
    expect(marksIn(await seen(options, agent()))).toEqual(left);
  });

  it("of the list of sessions, and of what a rewind left", async () => {
    await using runtime = await createRuntime({ memory: true, agent: agent() });
    const list = async (options: ServerOptions): Promise<string> =>
      await (await createServer(runtime, options).fetch(requestTo("GET", "/api/sessions"))).text();
    const session = await runtime.session("s");
    await (
      await session.send("Hi", { id: "m" })
    ).result;
    expect(await list(user)).not.toMatch(/"total"|"model"|agentDigest/);
    expect(await list({ token: false })).toMatch(/"total".*"model".*agentDigest/);
    const { fetch } = createServer(runtime, user);
    const rewound = await fetch(post("/api/sessions/s/rewind", { beforeMessage: "m" }));
    const answer = await rewound.text();
    expect([rewound.status, answer]).toEqual([200, expect.not.stringContaining("usage")]);
  });
});

describe("a permission that ends", () => {
  it("ends the streams and connections of those whom `revoke` names, at once", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel([]) },
    });
    await runtime.session("s");
    const dismissed = new Set<string>();
    const server = createServer(runtime, {
      token: false,
      authorize: ({ headers }) => {
        const actor = headers.get("x-user") ?? "";
        return dismissed.has(actor) ? null : { actor, audience: "operator" };
      },
    });
    const as = (name: string, request: Request): Request => {
      request.headers.set("x-user", name);
      return request;
    };
    const paths = ["/api/sessions/s/events", "/api/chat/s/stream?follow=true"];
    const ended: string[] = [];
    for (const name of ["ann", "bob"]) {
      for (const path of paths) {
        const { body } = await server.fetch(as(name, requestTo("GET", path)));
        void new Response(body).text().then(() => ended.push(`${name} ${path}`));
      }
      const socket = await server.upgrade(as(name, requestTo("GET", "/ws?sessionId=s")));
      if (socket instanceof Response) throw new Error(await socket.text());
      socket.open({ send: () => {}, close: () => ended.push(`${name} /ws`) });
    }
    dismissed.add("ann").add("bob");
    // @ts-expect-error A mistyped filter must not look like a success.
    await expect(server.revoke({ user: "ann" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await server.revoke({ actor: "ann" });
    await eventually(() => expect(ended).toHaveLength(3));
    expect(ended.toSorted()).toEqual([...paths, "/ws"].map((path) => `ann ${path}`).toSorted());
    await server.revoke();
    await eventually(() => expect(ended).toHaveLength(6));
    server.close();
  });

  it("is asked about every 30 s, also where nothing happens, and no timer stays", async () => {
    vi.useFakeTimers();
    try {
      const answers = new OpenAnswers();
      let may = true;
      using one = answers.admit({}, async () => may);
      await vi.advanceTimersByTimeAsync(31_000);
      expect(one.ends.aborted).toBe(false);
      may = false;
      await vi.advanceTimersByTimeAsync(31_000);
      expect(one.ends.aborted).toBe(true);
      one[Symbol.dispose]();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("limits", () => {
  const limited = (runtime: Runtime, authorize: NonNullable<ServerOptions["authorize"]>) => {
    const { fetch } = createServer(runtime, {
      token: false,
      authorize,
      limits: { requestsPerMinute: 3 },
    });
    return async (tenant: string): Promise<number> => {
      const request = requestTo("GET", "/api/sessions");
      request.headers.set("x-tenant", tenant);
      return (await fetch(request)).status;
    };
  };
  const tenantOf = ({ headers }: Request): string => headers.get("x-tenant") ?? "";

  it.each<[what: string, authorize: NonNullable<ServerOptions["authorize"]>, refusal: number]>([
    ["of an actor", (request) => ({ actor: "ann", tenant: tenantOf(request) }), 200],
    ["of a tenant", (request) => ({ tenant: tenantOf(request) }), 200],
    ["of the sessions that it sees", (request) => ({ where: { tenant: tenantOf(request) } }), 200],
    ["of nobody", () => null, 401],
    ["of one who may not", () => false, 403],
  ])("%s are none of others'", async (_, authorize, status) => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel([]) },
    });
    const ask = limited(runtime, authorize);
    const statuses: number[] = [];
    for (let request = 0; request < 4; request++) statuses.push(await ask("acme"));
    expect(statuses).toEqual([status, status, status, 429]);
    expect(await ask("bolt")).toBe(status);
  });
});

describe("the context that `authorize` answers", () => {
  it.each<[what: string, request: () => Request]>([
    ["a posted chat", () => post("/api/chat", chat)],
    ["the queue", () => post("/api/sessions/s/queue", { message: "Hi" })],
    ["the message stream", () => post("/api/message-stream", { sessionId: "s", message: "Hi" })],
  ])("reaches `contextFor` and the tools, and is recorded: by %s", async (_, request) => {
    const seen: unknown[] = [];
    const agent: Agent = {
      model: scriptedModel(({ prompt }) =>
        prompt.at(-1)?.role === "user" ? { parts: [call("where", "c")] } : saying("There."),
      ),
      tools: {
        where: tool({
          inputSchema: z.object({}),
          contextSchema: z.object({ locale: z.string() }),
          execute: (__, { context }) => seen.push(context),
        }),
      },
    };
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("s");
    const context = { locale: "de" };
    const { fetch } = createServer(runtime, { token: false, authorize: () => ({ context }) });
    await (await fetch(request())).text();
    await session.atRest();
    expect(seen).toEqual([context]);
    const events = await Array.fromAsync(runtime.log.read("s"));
    const about = events.flatMap(({ type, data }) =>
      type === "message.queued" ? [data.about] : [],
    );
    expect(about).toEqual([{ context }]);
  });
});
