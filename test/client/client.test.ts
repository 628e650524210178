/** What the client asks of a server, what it makes of answers, and how it follows events over lost connections. */

import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { waitFor } from "../../src/client/server-events.ts";
import { createClient, type Client } from "../../src/public/client.ts";
import { TurnlogError, type SessionEvent } from "../../src/public/index.ts";
import { runs } from "../support/runs.ts";
import { tableRoutes } from "./table-source.ts";
import { json, problem, protocol, ScriptedServer, stream, unreachable } from "./scripted-server.ts";

function clientOf(server: ScriptedServer, options: object = {}): Client {
  return createClient({ baseUrl: "http://server.test/", fetch: server.fetch, ...options });
}

const event = (position: number, text = "x"): string => {
  const data = { id: "t", text };
  return JSON.stringify({ position, time: 1, type: "part.text-delta", data });
};
const frameOf = (position: number, text?: string): string =>
  `id: ${position}\ndata: ${event(position, text)}\n\n`;

async function first(events: AsyncIterable<SessionEvent>, count: number): Promise<number[]> {
  const positions: number[] = [];
  for await (const { position } of events) {
    positions.push(position);
    if (positions.length === count) break;
  }
  return positions;
}

describe("a request", () => {
  it("has the session in its path, the token in a header, and no value that was not given", async () => {
    const server = new ScriptedServer(json({ position: 3 }));
    let asked = 0;
    const client = clientOf(server, { token: () => `t${++asked}` });
    const session = client.session("a/b");
    await session.view();
    await session.view(4);
    await session.send("Hi", { id: "m" });
    await session.withdraw("m 1");
    await client.approve("a/b~1", { reason: "fine" });
    expect(server.paths).toEqual([
      "GET /api/sessions/a%2Fb",
      "GET /api/sessions/a%2Fb?position=4",
      "POST /api/sessions/a%2Fb/queue",
      "DELETE /api/sessions/a%2Fb/queue/m%201",
      "POST /api/approvals/a%2Fb~1",
    ]);
    expect(server.seen[2]?.body).toEqual({ message: "Hi", id: "m" });
    expect(server.seen.map(({ headers }) => headers.get("authorization"))).toEqual(
      [1, 2, 3, 4, 5].map((n) => `Bearer t${n}`),
    );
  });

  it("that is refused throws the server's code, session, position and details", async () => {
    const fields = { session: "s", position: 7, details: { head: { turn: 2 } } };
    const client = clientOf(new ScriptedServer(problem(409, "STALE", fields)));
    const error: unknown = await client
      .session("s")
      .rewind({ to: 3 })
      .catch((thrown: unknown) => thrown);
    expect(TurnlogError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({
      code: "STALE",
      message: "It is STALE.",
      session: "s",
      position: 7,
      details: { head: { turn: 2 }, status: 409 },
    });
  });

  it.each([
    ["nothing", unreachable, "SERVER_UNREACHABLE"],
    ["a failure of the server", problem(500, "SERVER_FAILED"), "SERVER_FAILED"],
    ["a page", () => new Response("<html>", { status: 404 }), "SERVER_FAILED"],
    ["another server", () => Response.json({}), "SERVER_FAILED"],
    [
      "a later protocol",
      () => Response.json({}, { headers: { "turnlog-protocol": "2" } }),
      "SERVER_FAILED",
    ],
    ["another type", () => new Response("hi", { headers: protocol }), "SERVER_FAILED"],
  ] as const)("answered by %s throws", async (_, answer, code) => {
    const client = clientOf(new ScriptedServer(answer));
    await expect(client.session("s").view()).rejects.toMatchObject({ code });
  });

  it("that the program's own `fetch` refuses says why", async () => {
    const refuse = () => Promise.reject(new TurnlogError("FORBIDDEN", "Not from this page."));
    const client = createClient({ baseUrl: "http://server.test", fetch: refuse });
    await expect(client.session("s").view()).rejects.toMatchObject({
      code: "FORBIDDEN",
      message: "Not from this page.",
    });
  });

  it("is not redirected unless it only reads: the other address would get no body", async () => {
    const redirected = () =>
      Object.defineProperties(Response.json({ position: 3 }, { headers: protocol }), {
        redirected: { value: true },
        url: { value: "http://other.test/login" },
      });
    const client = clientOf(new ScriptedServer(redirected));
    await expect(client.session("s").send("Hi")).rejects.toMatchObject({
      code: "SERVER_FAILED",
      message: expect.stringContaining("redirected to http://other.test") as unknown,
    });
    expect(await client.session("s").view()).toEqual({ position: 3 });
  });

  it("for a file asks for files of sessions only", async () => {
    const server = new ScriptedServer(json({}));
    await expect(clientOf(server).blob("/api/bill")).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(server.paths).toEqual([]);
  });

  it("needs options that are known", () => {
    // @ts-expect-error -- unknown
    expect(() => createClient({ baseUrl: "", url: "x" })).toThrow(/`url` is unknown/);
    // @ts-expect-error -- required
    expect(() => createClient({})).toThrow(/`baseUrl` must be/);
  });

  it("has five minutes of patience, and takes 45 s of silence for a lost connection", () => {
    const { patienceMs, silenceMs } = createClient({ baseUrl: "" }).http;
    expect({ patienceMs, silenceMs }).toEqual({ patienceMs: 300_000, silenceMs: 45_000 });
  });
});

it("waits for half of its time at least, so that the clients of a server do not all return at once", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const random = vi.spyOn(Math, "random");
  for (const [drawn, ms] of [
    [0, 500],
    [0.5, 750],
  ] as const) {
    random.mockReturnValue(drawn);
    let isOver = false;
    void waitFor(1_000, undefined).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
  }
});

describe("each method passes on all that it is given", () => {
  const basedOn = { messageId: "a" };
  const answer = { reason: "fine", always: true };
  const cases: Record<
    string,
    readonly [call: (client: Client) => Promise<unknown>, body?: object]
  > = {
    "POST /api/sessions": [(client) => client.createSession("x"), { id: "x" }],
    "POST /api/sessions ": [
      (client) => client.createSession("y", { metadata: { a: 1 }, agent: "coder" }),
      { id: "y", metadata: { a: 1 }, agent: "coder" },
    ],
    "GET /api/sessions?where=%7B%22tenant%22%3A%22acme%22%7D": [
      (client) => client.sessions({ where: { tenant: "acme" } }),
    ],
    "GET /api/sessions?after=a&prefix=p&status=idle&limit=2": [
      (client) => client.sessions({ after: "a", prefix: "p", status: "idle", limit: 2 }),
    ],
    "GET /api/approvals": [(client) => client.approvals()],
    "POST /api/approvals/s~1": [
      (client) => client.approve("s~1", answer),
      { approved: true, ...answer },
    ],
    "POST /api/approvals/s~2": [
      (client) => client.deny("s~2", answer),
      { approved: false, ...answer },
    ],
    "POST /api/outputs/s~3": [
      (client) => client.answerCall("s~3", { output: 7, by: "ann" }),
      { output: 7, by: "ann" },
    ],
    "POST /api/outputs/s~4": [
      (client) => client.answerCall("s~4", { error: "Lost." }),
      { error: "Lost." },
    ],
    "GET /api/sessions/s-1/blobs/00ff": [(client) => client.blob("/api/sessions/s-1/blobs/00ff")],
    "GET /api/sessions/s?position=4": [(client) => client.session("s").view(4)],
    "GET /api/sessions/s/prompt?position=4": [(client) => client.session("s").prompt(4)],
    "GET /api/sessions/s?position=5": [(client) => client.session("s").at(5)],
    "GET /api/sessions/s/sub-agents": [(client) => client.session("s").subAgents()],
    "GET /api/sessions/s/diff?before=1&after=4": [(client) => client.session("s").diff(1, 4)],
    "GET /api/sessions/s/context?position=4": [(client) => client.session("s").context(4)],
    [`GET /api/sessions/s/bill?position=4&whatIf=${encodeURIComponent('{"caching":false}')}`]: [
      (client) => client.session("s").bill({ position: 4, whatIf: { caching: false } }),
    ],
    "GET /api/bill?from=2026-11-01&by=tenant%2Cday": [
      (client) => client.bill({ by: ["tenant", "day"], from: "2026-11-01" }),
    ],
    "GET /api/sessions/s/context?position=5": [
      (client) => client.session("s").context({ position: 5 }),
    ],
    "GET /api/sessions/s/branches": [(client) => client.session("s").branches()],
    "GET /api/sessions/s/approvals": [(client) => client.session("s").approvals()],
    "GET /api/sessions/s/queue": [(client) => client.session("s").queue()],
    "GET /api/chat/s/messages?limit=2&before=m": [
      (client) => client.session("s").messages({ limit: 2, before: "m" }),
    ],
    "POST /api/sessions/s/queue": [
      (client) =>
        client.session("s").send("Hi", {
          id: "m",
          delivery: "steer",
          notBefore: "2030-01-01T00:00:00Z",
          replaces: "l",
          basedOn,
        }),
      {
        message: "Hi",
        id: "m",
        delivery: "steer",
        notBefore: "2030-01-01T00:00:00Z",
        replaces: "l",
        basedOn,
      },
    ],
    "POST /api/sessions/s/queue/m": [
      (client) => client.session("s").reschedule("m", "steer"),
      { delivery: "steer" },
    ],
    "POST /api/sessions/s/queue/n": [
      (client) =>
        client.session("s").reschedule("n", {
          delivery: "follow-up",
          notBefore: "2030-01-01T00:00:00Z",
        }),
      { delivery: "follow-up", notBefore: "2030-01-01T00:00:00Z" },
    ],
    "DELETE /api/sessions/s/queue/m": [(client) => client.session("s").withdraw("m")],
    "DELETE /api/sessions/s/queue/n?reason=late": [
      (client) => client.session("s").withdraw("n", "late"),
    ],
    "DELETE /api/sessions/s/queue/o?reason=later": [
      (client) => client.session("s").withdraw("o", { reason: "later" }),
    ],
    "POST /api/sessions/s/regenerate": [
      (client) => client.session("s").regenerate({ messageId: "m", idempotencyKey: "k", basedOn }),
      { messageId: "m", idempotencyKey: "k", basedOn },
    ],
    "POST /api/approvals/s~5": [
      (client) => client.session("s").approve("s~5", answer),
      { approved: true, ...answer },
    ],
    "POST /api/approvals/s~6": [(client) => client.session("s").deny("s~6"), { approved: false }],
    "POST /api/outputs/s~7": [
      (client) => client.session("s").answerCall("s~7", { output: [1] }),
      { output: [1] },
    ],
    "POST /api/sessions/s/allow": [
      (client) => client.session("s").allow({ dollars: 2 }),
      { dollars: 2 },
    ],
    "DELETE /api/sessions/s/approvals/pay%20out": [
      (client) => client.session("s").forgetApproval("pay out"),
    ],
    "POST /api/sessions/s/configure": [
      (client) => client.session("s").configure({ agent: "coder" }),
      { agent: "coder" },
    ],
    "POST /api/sessions/s/metadata": [
      (client) => client.session("s").setMetadata({ a: 1 }),
      { metadata: { a: 1 } },
    ],
    "POST /api/sessions/s/title": [
      (client) => client.session("s").setTitle("A refund"),
      { title: "A refund" },
    ],
    "POST /api/sessions/s/seen": [(client) => client.session("s").markSeen(), {}],
    "POST /api/sessions/s/redact": [
      (client) => client.session("s").redact([{ from: 1, to: 2 }, 4], { reason: "r" }),
      { what: [{ from: 1, to: 2 }, 4], reason: "r" },
    ],
    "POST /api/sessions/s/close": [
      (client) => client.session("s").close("done"),
      { reason: "done" },
    ],
    "POST /api/sessions/s/resume": [(client) => client.session("s").resume(), {}],
    "POST /api/sessions/s/cancel": [
      (client) => client.session("s").cancel({ mode: "after-tools", reason: "r", withdraw: true }),
      { mode: "after-tools", reason: "r", withdraw: true },
    ],
    "POST /api/sessions/s/compact": [(client) => client.session("s").compact(), {}],
    "GET /api/sessions/s/compact?position=4": [(client) => client.session("s").preview(4)],
    "POST /api/sessions/s/restore": [(client) => client.session("s").restore(4), { position: 4 }],
    "POST /api/sessions/s/rewind": [
      (client) => client.session("s").rewind({ beforeTurn: 2, tell: true, basedOn }),
      { beforeTurn: 2, tell: true, basedOn },
    ],
    "POST /api/sessions/s/checkout": [
      (client) => client.session("s").checkout(3, { tell: true, basedOn }),
      { branch: 3, tell: true, basedOn },
    ],
    "POST /api/sessions/s/fork": [
      (client) => client.session("s").fork({ position: 4, id: "f" }),
      { position: 4, id: "f" },
    ],
    "POST /api/sessions/s/rerun": [
      (client) => client.session("s").rerun({ step: 2, id: "r" }),
      { step: 2, id: "r" },
    ],
    "DELETE /api/sessions/s?forks=copy": [
      (client) => client.session("s").delete({ forks: "copy" }),
    ],
    "GET /api/sessions/s/export": [(client) => client.session("s").export()],
  };

  it("in a case of this test", () => {
    const source = Object.values(cases).map(([call]) => String(call));
    const called = Object.keys(tableRoutes()).filter((name) =>
      source.some((text) => text.includes(`.${name}(`)),
    );
    expect(called).toEqual(Object.keys(tableRoutes()));
  });

  it.each(Object.entries(cases))("%s", async (request, [call, body]) => {
    const server = new ScriptedServer(json({ session: "s" }));
    await call(clientOf(server));
    expect(server.paths).toEqual([request.trim()]);
    expect(server.seen[0]?.body).toEqual(body);
  });
});

describe("the events of a session", () => {
  it("go on at the next position over lost connections, restarts and closed streams", async () => {
    const server = new ScriptedServer(
      stream([frameOf(5), frameOf(6).slice(0, 20)], { end: "break" }),
      unreachable,
      problem(503, "RUNTIME_CLOSED"),
      stream([":\n\n", frameOf(6), ": the server was closed\n\n"]),
      stream(['event: problem\ndata: {"code":"RUNTIME_CLOSED","status":503}\n\n']),
      stream([frameOf(7)], { end: "hang" }),
    );
    expect(await first(clientOf(server).session("s").events({ from: 5 }), 3)).toEqual([5, 6, 7]);
    const from = server.paths.map((path) =>
      new URL(`http://x${path.slice(4)}`).searchParams.get("from"),
    );
    expect(from).toEqual(["5", "6", "6", "6", "7", "7"]);
  });

  it("are the same however their bytes come", async () => {
    const sent = [1, 2, 3].map((n) => frameOf(n, "ä\n\u2028 data: 1\r\n"));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.array(fc.nat(400), { maxLength: 12 }),
        async (ending, cuts) => {
          const bytes = new TextEncoder().encode(sent.join("").replaceAll("\n", ending));
          const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length];
          const pieces = ends
            .toSorted((one, other) => one - other)
            .map((end, index, all) => bytes.slice(all[index - 1] ?? 0, end));
          const server = new ScriptedServer(() => {
            const left = [...pieces];
            const body = new ReadableStream<Uint8Array>({
              pull(controller) {
                const piece = left.shift();
                if (piece === undefined) return new Promise<void>(() => {});
                controller.enqueue(piece);
                return undefined;
              },
            });
            const headers = { ...protocol, "content-type": "text/event-stream" };
            return new Response(body, { headers });
          });
          expect(await first(clientOf(server).session("s").events(), 3)).toEqual([1, 2, 3]);
          expect(server.seen).toHaveLength(1);
        },
      ),
      runs(60),
    );
  });

  it("may be long, and come in many pieces", async () => {
    const text = "x".repeat(2_000_000);
    const pieces = frameOf(1, text).match(/.{1,20}|\n/gs) ?? [];
    const server = new ScriptedServer(stream(pieces));
    for await (const one of clientOf(server).session("s").events()) {
      expect(one).toMatchObject({ data: { text } });
      break;
    }
  });

  it("of a silent connection come from a new one", async () => {
    const server = new ScriptedServer(
      stream([frameOf(1)], { end: "hang" }),
      stream([frameOf(2)], { end: "hang" }),
    );
    const events = clientOf(server, { silenceMs: 50 }).session("s").events();
    expect(await first(events, 2)).toEqual([1, 2]);
  });

  it("fail when the server refuses, or is away for longer than the client's patience", async () => {
    const refused = clientOf(new ScriptedServer(problem(404, "SESSION_NOT_FOUND")));
    await expect(first(refused.session("s").events(), 1)).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
    const away = clientOf(new ScriptedServer(stream([frameOf(1)]), unreachable), { patienceMs: 1 });
    await expect(first(away.session("s").events(), 2)).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
    });
  });

  it.each([408, 425, 429, 502, 503, 504])(
    "come from the next attempt after a %i: the server is about to come back",
    async (status) => {
      const server = new ScriptedServer(
        problem(status, "SERVER_FAILED"),
        stream([frameOf(1)], { end: "hang" }),
      );
      expect(await first(clientOf(server).session("s").events(), 1)).toEqual([1]);
    },
  );

  it("go on when a stream breaks that was good for longer than the client's patience", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    onTestFinished(() => void vi.useRealTimers());
    const server = new ScriptedServer(
      stream([frameOf(1), frameOf(2)], { end: "break" }),
      stream([frameOf(3)], { end: "hang" }),
    );
    const positions: number[] = [];
    for await (const { position } of clientOf(server).session("s").events()) {
      positions.push(position);
      // Twice the patience by default.
      vi.setSystemTime(Date.now() + 600_000);
      if (position === 3) break;
    }
    expect(positions).toEqual([1, 2, 3]);
  });

  it("end when the signal aborts, also while the client waits", async () => {
    const stop = new AbortController();
    const server = new ScriptedServer(stream([frameOf(1)], { end: "hang" }));
    const positions: number[] = [];
    const options = { signal: stop.signal };
    for await (const { position } of clientOf(server).session("s").events(options)) {
      positions.push(position);
      queueMicrotask(() => {
        stop.abort();
      });
    }
    expect(positions).toEqual([1]);
  });
});
