/** WebSockets of a real server of Node: frames, pushes, and the attacks on them. */

import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { dropOldest, manual, type Agent } from "../../src/public/index.ts";
import { eventually } from "../support/eventually.ts";
import { rawRequest, serving, type Serving } from "./serving.ts";

const agent = (): Agent => ({
  model: scriptedModel(() => "word ".repeat(200)),
  context: { compact: { when: manual(), how: dropOldest({ keepTurns: 1 }) } },
});

const frame = z.object({
  id: z.union([z.string(), z.number(), z.null()]),
  type: z.string(),
  payload: z.looseObject({}),
});
type Frame = z.output<typeof frame>;

interface Client extends AsyncDisposable {
  readonly socket: WebSocket;
  readonly say: (id: string | number, type: string, payload?: object) => void;
  /** The next frame that fits; frames before it are dropped. */
  readonly heard: (fits: (frame: Frame) => boolean) => Promise<Frame>;
}

async function connected(
  open: Serving,
  headers: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const { url, token } = open.server;
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?sessionId=s`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const frames: Frame[] = [];
  let wake = Promise.withResolvers<void>();
  socket.on("message", (data: Buffer) => {
    frames.push(frame.parse(JSON.parse(data.toString())));
    wake.resolve();
    wake = Promise.withResolvers();
  });
  await once(socket, "open");
  return {
    socket,
    say: (id, type, payload) => {
      socket.send(JSON.stringify({ id, type, ...(payload && { payload }) }));
    },
    heard: async (fits) => {
      for (;;) {
        const next = frames.shift();
        if (next === undefined) await wake.promise;
        else if (fits(next)) return next;
      }
    },
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return;
      socket.close();
      await once(socket, "close");
    },
  };
}

/** Why a connection was refused. */
async function refusal(
  open: Serving,
  path: string,
  options: WebSocket.ClientOptions,
): Promise<string> {
  const socket = new WebSocket(`${open.server.url.replace("http", "ws")}${path}`, options);
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.on("error", (error) => resolve(String(error)));
  socket.on("open", () => resolve("open"));
  const outcome = await promise;
  socket.terminate();
  return outcome;
}

describe("a WebSocket", () => {
  it("tells of the context, compacts it, sends and cancels", async () => {
    await using open = await serving(agent());
    const session = await open.runtime.session("s");
    for (const text of ["1", "2", "3"]) await (await session.send(text)).result;
    await using client = await connected(open);
    client.say(1, "get_context_info");
    const { payload: info } = await client.heard(({ id }) => id === 1);
    expect(info).toMatchObject({ tokenCount: (await session.context()).tokens });
    expect(Number(info["transcriptLength"])).toBeGreaterThan(5);
    client.say("two", "manual_compact");
    const { type, payload } = await client.heard(({ id }) => id === "two");
    expect(type).toBe("context_compacted");
    const { oldTokenCount, newTokenCount, reductionPercent } = z
      .object({
        oldTokenCount: z.number(),
        newTokenCount: z.number(),
        reductionPercent: z.number(),
      })
      .parse(payload);
    expect(newTokenCount).toBeLessThan(oldTokenCount);
    expect(reductionPercent).toBeCloseTo(
      (100 * (oldTokenCount - newTokenCount)) / oldTokenCount,
      0,
    );
    client.say(3, "send", { message: "4", id: "m4" });
    expect(await client.heard(({ id }) => id === 3)).toMatchObject({
      type: "sent",
      payload: { messageId: "m4" },
    });
    client.say(4, "cancel");
    expect((await client.heard(({ id }) => id === 4)).type).toBe("cancelled");
  });

  it("gives events from a position, and pushes compactions that others asked for", async () => {
    await using open = await serving(agent());
    const session = await open.runtime.session("s");
    for (const text of ["1", "2", "3"]) await (await session.send(text)).result;
    await using client = await connected(open);
    client.say("events", "subscribe", { from: 3 });
    const stored = await Array.fromAsync(open.runtime.log.read("s", { from: 3 }));
    for (const event of stored)
      expect((await client.heard(() => true)).payload).toEqual(JSON.parse(JSON.stringify(event)));
    await session.compact();
    expect((await client.heard(({ id }) => id === null)).type).toBe("context_compacted");
  });

  it("answers a frame that it cannot read with a problem", async () => {
    await using open = await serving(agent());
    await open.runtime.session("s");
    await using client = await connected(open);
    client.socket.send("{");
    expect(await client.heard(() => true)).toMatchObject({
      id: null,
      type: "error",
      payload: { code: "INVALID_INPUT" },
    });
    client.say(7, "sned", {});
    expect(await client.heard(({ id }) => id === 7)).toMatchObject({ type: "error" });
  });

  it("counts each frame as a request, and a subscription as an open answer", async () => {
    await using open = await serving(agent(), { limits: { openAnswers: 3 } });
    await open.runtime.session("s");
    await using client = await connected(open);
    for (let index = 0; index < 4; index++) client.say(`s${index}`, "subscribe");
    const refused = await client.heard(({ type }) => type === "error");
    expect(refused).toMatchObject({ payload: { code: "TOO_MANY_REQUESTS" } });
  });

  it("is closed for a frame that is too large, and when the server closes", async () => {
    await using open = await serving(agent(), { limits: { frameBytes: 1_000 } });
    await open.runtime.session("s");
    const greedy = await connected(open);
    greedy.socket.send("x".repeat(2_000));
    const [tooLarge] = z.tuple([z.number(), z.unknown()]).parse(await once(greedy.socket, "close"));
    expect(tooLarge).toBe(1009);
    const quiet = await connected(open);
    const closing = once(quiet.socket, "close");
    await open.server.close("the server stops");
    const [code, reason] = z.tuple([z.number(), z.instanceof(Buffer)]).parse(await closing);
    expect([code, reason.toString()]).toEqual([1001, "the server stops"]);
  });

  it("is closed for a frame that is no text", async () => {
    await using open = await serving(agent());
    await open.runtime.session("s");
    const client = await connected(open);
    client.socket.send(Buffer.from("{}"));
    const [code] = z.tuple([z.number(), z.unknown()]).parse(await once(client.socket, "close"));
    expect(code).toBe(1003);
  });

  it("takes the token as a protocol, for pages", async () => {
    await using open = await serving(agent());
    await open.runtime.session("s");
    const { url, token } = open.server;
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws?sessionId=s`, [
      "turnlog",
      `turnlog.token.${token}`,
    ]);
    await once(socket, "open");
    expect(socket.protocol).toBe("turnlog");
    socket.close();
    await once(socket, "close");
  });

  it("is refused by the same checks as a request", async () => {
    await using open = await serving(agent(), {
      authorize: ({ headers }) => headers.get("x-user") === "ann",
    });
    await open.runtime.session("s");
    const path = "/ws?sessionId=s";
    const authorization = `Bearer ${open.server.token}`;
    const ann = { authorization, "x-user": "ann" };
    const attempt = async (headers: Readonly<Record<string, string>>, at = path) =>
      /\d{3}/.exec(await refusal(open, at, { headers }))?.[0];
    expect(await attempt({ "x-user": "ann" })).toBe("401");
    expect(await attempt({ authorization: "Bearer wrong", "x-user": "ann" })).toBe("401");
    expect(await attempt({ ...ann, origin: "https://evil.example" })).toBe("403");
    expect(await attempt({ ...ann, host: "evil.example" })).toBe("403");
    expect(await attempt({ authorization, "x-user": "bob" })).toBe("403");
    expect(await attempt(ann, `${path}&token=x`)).toBe("400");
    expect(await attempt(ann, "/ws?sessionId=..%2Fx")).toBe("400");
    expect(await attempt(ann, "/ws?sessionId=none")).toBe("404");
    expect(await attempt(ann, "/other")).toBe("404");
    expect(await refusal(open, path, { headers: ann })).toBe("open");
  });
});

it("a handshake that the protocol refuses holds no open answer", async () => {
  await using open = await serving(agent(), { limits: { openAnswers: 1 } });
  await open.runtime.session("s");
  const headers = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  for (let attempt = 0; attempt < 3; attempt++) {
    // Without a key. The next one waits until the server has seen the end of the connection.
    await eventually(async () =>
      expect((await rawRequest(open.server, "/ws?sessionId=s", headers)).status).toBe(400),
    );
  }
});

it("a subscription ends when the session becomes another tenant's", async () => {
  await using open = await serving(agent(), {
    authorize: () => ({ where: { tenant: "acme" }, audience: "operator" }),
  });
  const session = await open.runtime.session("s", { metadata: { tenant: "acme" } });
  await using client = await connected(open);
  client.say(1, "subscribe");
  expect((await client.heard(({ id }) => id === 1)).type).toBe("event");
  await session.setMetadata({ tenant: "bolt" });
  const end = await client.heard(({ id }) => id === 1);
  expect(end).toMatchObject({ type: "error", payload: { code: "SESSION_NOT_FOUND" } });
});
