/** An export by pages: one blob at a time, however many there are, and all lines before a fault. */

import { hash } from "node:crypto";
import { expect, it } from "vitest";
import { exportPages, exportSession } from "../../../src/archive/exchange/index.ts";
import type { NewEvent } from "../../../src/events/index.ts";
import { openMemoryLog, type EventLog } from "../../../src/public/index.ts";
import { wrapLog } from "../../../src/replay/index.ts";
import { memoryBlobs } from "../../../src/store/blobs/index.ts";

const store = memoryBlobs();

async function stored(content: string): Promise<NewEvent> {
  using held = await store.put(Buffer.from(content));
  return blob(held.sha256, held.bytes);
}

function blob(sha256: string, bytes: number): NewEvent {
  return { type: "blob.stored", time: 5, data: { sha256, bytes, mediaType: "text/plain" } };
}

function word(index: number): NewEvent {
  return { type: "part.text-delta", time: 5, data: { id: "0", text: `word ${index}` } };
}

async function logOf(events: readonly NewEvent[]): Promise<EventLog> {
  const log = await openMemoryLog();
  await log.append("s", "none", events, { origin: "copied" });
  return log;
}

/** The lines that come, and the error behind them. */
async function linesUntil(lines: AsyncIterable<string>): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  try {
    for await (const line of lines) seen.push(line);
  } catch (error) {
    seen.push(error);
  }
  return seen;
}

it("has at most one blob in a page, alone", async () => {
  const blobs = await Promise.all(["a", "b", "c"].map((text) => stored(text.repeat(100_000))));
  await using log = await logOf([...blobs.slice(0, 2), word(1), word(2), ...blobs.slice(2)]);
  const pages = await Array.fromAsync(exportPages(log, "s", { store }));
  const kinds = pages.map((page) => page.map((line) => line.split('"', 2)[1]).join(" "));
  expect(kinds).toEqual([
    "turnlog",
    "blob",
    "position",
    "blob",
    "position position position",
    "blob",
    "position",
  ]);
  await using lines = exportSession(log, "s", { store });
  expect(await Array.fromAsync(lines)).toEqual(pages.flat());
});

it("gives all lines before a blob that is gone", async () => {
  const events = [word(1), await stored("kept"), word(2)];
  await using whole = await logOf(events);
  await using log = await logOf([...events, blob(hash("sha256", "gone"), 4), word(3)]);
  const [header, ...lines] = await linesUntil(exportSession(log, "s", { store }));
  const [, ...before] = await Array.fromAsync(exportSession(whole, "s", { store }));
  expect(header).toContain('"events":5');
  expect(lines).toEqual([...before, expect.objectContaining({ code: "BLOB_MISSING" })]);
});

it("gives all lines before an event that cannot be read", async () => {
  await using log = await logOf([word(1), word(2), word(3)]);
  let isBroken = false;
  const failing = wrapLog(log, {
    async *read(...given) {
      for await (const event of log.read(...given)) {
        if (isBroken && event.position === 3) throw new Error("unreadable");
        yield event;
      }
    },
  });
  const whole = await Array.fromAsync(exportSession(log, "s"));
  const lines = exportSession(failing, "s");
  expect(await lines.next()).toEqual({ done: false, value: whole[0] });
  isBroken = true;
  expect(await linesUntil(lines)).toEqual([...whole.slice(1, 3), new Error("unreadable")]);
});
