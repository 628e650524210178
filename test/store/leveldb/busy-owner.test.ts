/** A process that gets no time while it becomes the owner of a store becomes its owner all the same. */

import { setImmediate } from "node:timers/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { publishSocket, greetingOf } from "../../../src/store/leveldb/ownership/owner-socket.ts";
import { temporaryFolder } from "./disk.ts";

it("asks its own socket again where the time for the greeting was up before it came", async () => {
  const path = join(await temporaryFolder(), "owner.sock");
  const nonce = "12345678-0000-4000-8000-000000000000";
  const startedAt = new Date(0).toISOString();
  const greeting = greetingOf({ pid: process.pid, host: "here", boot: "b", startedAt, nonce });
  let late = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const state = { isOver: false };
    const publishing = publishSocket(path, greeting).finally(() => {
      state.isOver = true;
    });
    while (late < 2 && !state.isOver) {
      // The time passes as soon as somebody waits, before the socket can be read.
      if (vi.getTimerCount() > 0) {
        vi.advanceTimersByTime(1001);
        late += 1;
      }
      await setImmediate();
    }
    vi.useRealTimers();
    const socket = await publishing;
    if (!("release" in socket)) throw new Error(`It was refused: ${JSON.stringify(socket)}`);
    expect(socket.isInPlace()).toBe(true);
    socket.release();
  } finally {
    vi.useRealTimers();
  }
});
