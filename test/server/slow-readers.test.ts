/** A client that stops reading: its stream waits, costs little, and is dropped; others do not notice. */

import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { serverSocket } from "../../src/server/sockets/server-socket.ts";
import { eventStream, type ServerSentEvent } from "../../src/server/streams/event-stream.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { saying } from "../support/script.ts";
import { eventsUntil, readEvents, serving } from "./serving.ts";
import { eventually } from "../support/eventually.ts";

const settings = { heartbeatMs: 60_000, stallMs: 60_000, closing: new AbortController().signal };

afterEach(() => {
  vi.restoreAllMocks();
});

/** Events without an end, counted as they are read. */
function endless(): {
  readonly source: () => AsyncGenerator<ServerSentEvent>;
  taken: () => number;
} {
  let taken = 0;
  return {
    taken: () => taken,
    source: async function* () {
      for (;;) yield { id: String(++taken), data: "x".repeat(1_000) };
    },
  };
}

describe("a stream of events", () => {
  it("reads its source no further than the client takes", async () => {
    const { source, taken } = endless();
    const { body } = eventStream(source, settings);
    const reader = body?.getReader();
    for (let index = 0; index < 100; index++) await reader?.read();
    await new Promise(setImmediate);
    expect(taken()).toBeLessThan(120);
    await reader?.cancel();
  });

  it("is dropped when the client takes nothing, and its source is told", async () => {
    const left = Promise.withResolvers<void>();
    const ended = vi.fn<() => void>();
    const { source } = endless();
    const answer = eventStream(
      (signal) => {
        signal.addEventListener("abort", () => left.resolve());
        return source();
      },
      { ...settings, stallMs: 20 },
      {},
      ended,
    );
    await left.promise;
    expect(ended).toHaveBeenCalledOnce();
    await expect(answer.text()).rejects.toMatchObject({ code: "CLIENT_STALLED" });
  });

  it("is not dropped for the time in which the server itself got none", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const { source } = endless();
      const { body } = eventStream(source, { ...settings, stallMs: 1000 });
      const reader = body?.getReader();
      await reader?.read();
      // All that the client has room for is there.
      await new Promise(setImmediate);
      // One beat comes, hours late, before anything of the client was seen.
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + 3_600_000);
      vi.advanceTimersByTime(250);
      for (let index = 0; index < 100; index++) expect((await reader?.read())?.done).toBe(false);
      await reader?.cancel();
    } finally {
      vi.useRealTimers();
    }
  });

  it("says in quiet times that it is there", async () => {
    const quiet = Promise.withResolvers<void>();
    async function* nothing(): AsyncGenerator<ServerSentEvent> {
      await quiet.promise;
      yield { data: "late" };
    }
    const answer = eventStream(nothing, { ...settings, heartbeatMs: 2, stallMs: 10 });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    // Longer than a client may take nothing: there is nothing to take.
    for (let beat = 0; beat < 12; beat++) expect((await reader?.read())?.value).toBe(":\n\n");
    quiet.resolve();
    for (let text = ""; !text.includes("data: late");)
      text += (await reader?.read())?.value ?? "data: late";
    await reader?.cancel();
  });
});

it("over a real connection is dropped too, loses its place in no stream, and holds nobody up", async () => {
  const waiting = gate();
  const model = scriptedModel(() => saying(waiting));
  const printed = vi.spyOn(console, "error");
  const onError = vi.fn<(error: unknown) => void>();
  await using open = await serving(
    { model },
    { stallMs: 1000, limits: { openAnswers: 2 }, onError },
    { blobs: false },
  );
  const session = await open.runtime.session("s");
  // 20 MB: more than the buffers of both ends of a connection hold.
  for (let index = 0; index < 20; index++)
    await session.send("x".repeat(1_000_000), { id: `m${index}` });
  const lazy = connect(open.server.port, "127.0.0.1");
  await once(lazy, "connect");
  lazy.on("error", () => {});
  lazy.pause();
  lazy.write(
    `GET /api/sessions/s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${open.server.token}\r\n\r\n`,
  );
  const answer = await open.ask("/api/sessions/s/events");
  const events = await eventsUntil(readEvents(answer), ({ data }) => data.includes('"m19"'));
  expect(events.length).toBeGreaterThanOrEqual(20);
  // One more stream fits only when the lazy one is gone.
  await eventually(async () => {
    const streams = [await open.ask("/api/sessions/s/events"), await open.ask("/api/sessions")];
    await streams[0]?.body?.cancel();
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  });
  lazy.destroy();
  const last = events.at(-1)?.id ?? "";
  const resumed = await open.ask("/api/sessions/s/events", {
    headers: { "last-event-id": String(Number(last) - 1) },
  });
  const [first] = await eventsUntil(readEvents(resumed), () => true);
  expect(first?.id).toBe(last);
  expect(onError).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: "CLIENT_STALLED" }),
  );
  expect(printed).not.toHaveBeenCalled();
  waiting.open();
});

it("over a WebSocket is not dropped for the time in which the server itself got none", async () => {
  const closed = vi.fn<() => void>();
  const sent = Promise.withResolvers<void>();
  const { open } = serverSocket({
    read: ({ send }) => {
      void send("frame").then(sent.resolve);
      return async () => {};
    },
    ended: () => {},
    closing: new AbortController().signal,
    stallMs: 1000,
  });
  let hours = 0;
  vi.spyOn(performance, "now").mockImplementation(() => 3_600_000 * hours);
  // The client has taken the frame when the server looks again, hours later.
  const buffered = (): number => (hours++ < 2 ? 100_000 : 0);
  open({ send: () => {}, close: closed, buffered });
  await sent.promise;
  expect(closed).not.toHaveBeenCalled();
});

it("over a WebSocket is not waited for once it has left", async () => {
  const closed = vi.fn<() => void>();
  const sent = Promise.withResolvers<void>();
  const socket = serverSocket({
    read: ({ send }) => {
      void send("frame").then(sent.resolve);
      return async () => {};
    },
    ended: () => {},
    closing: new AbortController().signal,
    stallMs: 1000,
  });
  socket.open({ send: () => {}, close: closed, buffered: () => 100_000 });
  socket.close();
  await sent.promise;
  expect(closed).not.toHaveBeenCalled();
});

it("over a WebSocket holds back its own frames until what `send` returned has ended", async () => {
  const told: string[] = [];
  const left = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const { open } = serverSocket({
    read: ({ send }) => {
      void send("frame")
        .then(() => told.push("sent"), sent.reject)
        .then(() => sent.resolve());
      return async () => {};
    },
    ended: () => {},
    closing: new AbortController().signal,
    stallMs: 1000,
  });
  open({ send: () => left.promise, close: () => {} });
  await new Promise(setImmediate);
  told.push("left");
  left.resolve();
  await sent.promise;
  expect(told).toEqual(["left", "sent"]);
});
