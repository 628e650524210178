/** A process that has a store open and gets no time: who uses the store through it waits until it answers. */

import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { storeOwner, type StoreOwner } from "../../src/cli/owner/store-owner.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const greeting = {
  protocol: "turnlog/1",
  pid: 7,
  host: "here",
  boot: "b",
  startedAt: new Date(0).toISOString(),
  nonce: "12345678-0000-4000-8000-000000000000",
  serves: "1",
};
const line = `${JSON.stringify(greeting)}\n`;

let folder: TemporaryFolder;
let server: Server;
let owner: StoreOwner;

beforeEach(async () => {
  folder = await temporaryFolder({});
  server = createServer().listen(folder.at("owner.sock"));
  await once(server, "listening");
  const finding = storeOwner(folder.path);
  (await connection()).write(line);
  const found = await finding;
  if (found === undefined) throw new Error("The store has no owner.");
  owner = found;
});

afterEach(async () => {
  vi.useRealTimers();
  server.close();
  await folder[Symbol.asyncDispose]();
});

async function connection(): Promise<Socket> {
  return await new Promise((resolve) => server.once("connection", resolve));
}

it("has its requests answered once it gets time, and is not taken for gone", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = owner.fetch(new Request("http://localhost/api/sessions"));
  const socket = await connection();
  vi.advanceTimersByTime(3_600_000);
  socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nHere"));
  socket.write(line);
  expect(await (await asked).text()).toBe("Here");
});

it("is gone if it ends before it has answered", async () => {
  const asked = owner.fetch(new Request("http://localhost/api/sessions"));
  (await connection()).destroy();
  await expect(asked).rejects.toMatchObject({ code: "LOG_CLOSED", details: { pid: 7 } });
});

it("is said to be busy, and not to be gone, if it greets nobody in time", async () => {
  const patience = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(patience.signal);
  try {
    const finding = storeOwner(folder.path);
    await connection();
    patience.abort();
    const refused = await finding.catch((error: unknown) => String(error));
    expect(refused).toContain("it is busy, or was stopped");
  } finally {
    timeout.mockRestore();
  }
});

it("is waited for while it opens the store, which it then serves", async () => {
  const finding = storeOwner(folder.path);
  (await connection()).end(
    `${JSON.stringify({ ...greeting, serves: undefined, isPassing: true })}\n`,
  );
  (await connection()).write(line);
  expect(await finding).toMatchObject({ pid: 7 });
});

it("is waited for no longer than the request is", async () => {
  const request = new AbortController();
  const { signal } = request;
  const asked = owner.fetch(new Request("http://localhost/api/sessions", { signal }));
  const socket = await connection();
  const left = once(socket, "close");
  request.abort(new Error("The reader has left."));
  await expect(asked).rejects.toThrow("The reader has left.");
  socket.resume();
  await left;
});
