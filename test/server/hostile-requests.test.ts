/** Requests that a careful client never sends: each costs the server little, and leaves nothing behind. */

import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, memoryBlobs } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import type { ServerOptions } from "../../src/server/index.ts";
import { eventually } from "../support/eventually.ts";
import { rawRequest, serving, storedFile, type Serving } from "./serving.ts";

const agent = () => ({ model: scriptedModel(() => "ok") });

async function imported(open: Serving, body: string | Uint8Array): Promise<Response> {
  const headers = { authorization: `Bearer ${open.server.token}` };
  const url = `${open.server.url}/api/sessions/s/import`;
  return await fetch(url, { method: "POST", headers, body });
}

describe("a request", () => {
  it("for the head of a stream opens no stream", async () => {
    const logged: string[] = [];
    const onRequest = ({ method }: { readonly method: string }): void => void logged.push(method);
    await using open = await serving(agent(), { limits: { openAnswers: 1 }, onRequest });
    const session = await open.runtime.session("s");
    await (
      await session.send("Hi")
    ).result;
    for (const path of ["/api/sessions/s/events", "/api/chat/s/stream?follow=true"]) {
      const answer = await rawRequest(open.server, path, {}, "HEAD");
      expect([answer.status, answer.text]).toEqual([200, ""]);
      expect(answer.headers["content-type"]).toBe("text/event-stream");
    }
    expect((await rawRequest(open.server, "/healthz", {}, "HEAD")).status).toBe(200);
    expect(logged).toEqual(["HEAD", "HEAD", "HEAD"]);
    expect((await open.ask("/api/sessions")).status).toBe(200);
  });

  it("whose answer nobody takes holds its connection for the time of a stall", async () => {
    const store = memoryBlobs();
    const options = { stallMs: 500, connections: 1 };
    await using open = await serving(agent(), options, { blobs: { store } });
    // More than the buffers of both ends of a connection hold.
    const path = await storedFile(open, store, new Uint8Array(20_000_000));
    const lazy = connect(open.server.port, "127.0.0.1");
    lazy.on("error", () => {});
    await once(lazy, "connect");
    lazy.pause();
    lazy.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${open.server.token}\r\n\r\n`,
    );
    await eventually(async () => expect((await open.ask("/api/sessions")).status).toBe(200));
    lazy.destroy();
  });

  it("whose client leaves in the middle of its body is no failure of the server", async () => {
    const reported: unknown[] = [];
    const onError = (error: unknown): void => void reported.push(error);
    await using runtime = await createRuntime({ memory: true, agent: agent() });
    const server = createServer(runtime, { token: false, onError });
    for (const path of ["/api/sessions/s/queue", "/api/sessions/s/import"]) {
      const body = new ReadableStream({
        start: (sent) => sent.enqueue(new TextEncoder().encode("{")),
        pull: (sent) => sent.error(new Error("aborted")),
      });
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body, duplex: "half" } as const;
      const answer = await server.fetch(new Request(`http://localhost${path}`, init));
      expect([answer.status, await answer.json()]).toMatchObject([400, { code: "INVALID_INPUT" }]);
    }
    expect(reported).toEqual([]);
  });

  it("is answered as ever where the application's report of it throws", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    await using runtime = await createRuntime({ memory: true, agent: agent() });
    const fail = (): never => {
      throw new Error("no log");
    };
    const ask = async (options: ServerOptions): Promise<Response> =>
      await createServer(runtime, { token: false, ...options }).fetch(
        new Request("http://localhost/api/sessions"),
      );
    expect((await ask({ onRequest: fail })).status).toBe(200);
    const answer = await ask({ onError: fail, authorize: () => fail() });
    expect([answer.status, await answer.json()]).toMatchObject([500, { code: "SERVER_FAILED" }]);
    const said = warned.mock.calls.map(([warning]) => String(warning));
    warned.mockRestore();
    expect(said).toEqual([
      "`onRequest` threw: Error: no log",
      "`onError` threw: Error: no log",
      expect.stringMatching(/^\w+: Error: no log$/),
    ]);
  });

  it("is refused before its body has come, where the path says what it asks for", async () => {
    await using open = await serving(agent(), { token: false, authorize: () => false });
    const sent = connect(open.server.port, "127.0.0.1");
    await once(sent, "connect");
    const answered = once(sent, "data");
    // The rest of the body never comes.
    sent.write(
      "POST /api/sessions/s/queue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20000000\r\n\r\n{",
    );
    expect(String(await answered)).toContain("403");
    sent.destroy();
  });

  it("with a field twice is refused: one of them would count in silence", async () => {
    await using open = await serving(agent());
    const answer = await open.ask("/api/sessions?limit=1&limit=2");
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { code: "INVALID_INPUT", details: { option: "limit" } },
    ]);
  });

  it("with bytes that are no text is refused: other text would be kept", async () => {
    await using open = await serving(agent());
    const broken = Buffer.concat([Buffer.from('{"message":"'), Buffer.of(0xff), Buffer.from('"}')]);
    const answer = await fetch(`${open.server.url}/api/sessions/s/queue`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${open.server.token}`,
        "content-type": "application/json",
      },
      body: broken,
    });
    expect([answer.status, await answer.text()]).toMatchObject([400, /UTF-8/]);
    expect((await imported(open, Buffer.of(0xff, 0x0a))).status).toBe(400);
    expect(await Array.fromAsync(open.runtime.log.list())).toEqual([]);
  });

  it("with a line of 20 MB, or a file that is none, is refused at once", async () => {
    await using open = await serving(agent());
    expect((await imported(open, "x".repeat(20_000_000))).status).toBe(400);
    for (const url of [
      `data:text/plain;base64,${" ".repeat(5_000_000)}!`,
      `data:${";".repeat(5e6)}`,
    ]) {
      const part = { type: "file", mediaType: "text/plain", url };
      const body = { id: "s", messages: [{ id: "m", role: "user", parts: [part] }] };
      expect((await open.ask("/api/chat", { body })).status).toBe(400);
    }
  });
});
