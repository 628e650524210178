/** The limit of all blobs of a session together, from any source and however many come at once. */
import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { memoryBlobs } from "../../src/store/blobs/index.ts";
import type { BlobStore, SessionEvent } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { nothing } from "../runtime/tools.ts";

const shots = Array.from({ length: 8 }, (_, seed) => png({ width: 100, height: 100, seed }));
const each = Math.max(...shots.map(({ length }) => length));
/** Two fit, three do not. */
const maxSessionBytes = each * 2 + 100;

const file = (data: Uint8Array) => [{ type: "file", data, mediaType: "image/png" } as const];

function bytesOf(events: readonly SessionEvent[]): number {
  return events.reduce((sum, { type, data }) => sum + (type === "blob.stored" ? data.bytes : 0), 0);
}

describe("the blobs of a session", () => {
  it("stay within its limit when messages are sent at once, and what is refused is not stored", async () => {
    const store = memoryBlobs();
    const model = scriptedModel(["One.", "Two.", "Three."]);
    await using open = await openSession({ model }, { blobs: { store, maxSessionBytes } });
    const sent = await Promise.allSettled(shots.map((shot) => open.session.send(file(shot))));
    const isTaken = shots.map((_, index) => index < 2);
    expect(sent.map(({ status }) => status === "fulfilled")).toEqual(isTaken);
    for (const one of sent.slice(2)) {
      expect(one).toMatchObject({
        reason: { code: "BLOB_TOO_LARGE", details: { of: "session", limit: maxSessionBytes } },
      });
    }
    await open.session.idle();
    expect((await Array.fromAsync(store.list())).length).toBe(2);
    expect(bytesOf(await open.events())).toBeLessThanOrEqual(maxSessionBytes);
  });

  it("leave room for others where one could not be stored", async () => {
    const kept = memoryBlobs();
    let isFull = true;
    const put: BlobStore["put"] = async (...given) => {
      if (isFull) throw new Error("no room on the disk");
      return await kept.put(...given);
    };
    const options = { blobs: { store: { ...kept, put }, maxSessionBytes } };
    await using open = await openSession({ model: scriptedModel(["One.", "Two."]) }, options);
    const [lost = Buffer.alloc(0), ...others] = shots;
    await expect(open.session.send(file(lost))).rejects.toThrow("no room");
    isFull = false;
    for (const other of others.slice(0, 2)) {
      await (
        await open.session.send(file(other))
      ).result;
    }
    await expect(open.session.send(file(lost))).rejects.toThrow("may have");
  });

  it("take no room twice when the same is sent at once", async () => {
    const [shot = Buffer.alloc(0)] = shots;
    const blobs = { maxSessionBytes: shot.length };
    await using open = await openSession({ model: scriptedModel(["1", "2", "3"]) }, { blobs });
    const sent = [shot, shot, shot].map((one) => open.session.send(file(one)));
    for (const one of sent) await (await one).result;
    expect(bytesOf(await open.events())).toBe(shot.length);
  });

  it("stay within its limit when tools answer at once: notes stand for the rest", async () => {
    let answered = 0;
    const look = tool({
      inputSchema: nothing,
      execute: () => ({ screen: shots[answered++]?.toString("base64") ?? "" }),
    });
    const calls = shots.map((_, index) => call("look", `${index}`));
    const model = scriptedModel([calling(...calls), "Seen."]);
    await using open = await openSession(
      { model, tools: { look } },
      { blobs: { maxSessionBytes } },
    );
    await (
      await open.session.send("look")
    ).result;
    const events = await open.events();
    const answers = events.flatMap(({ type, data }) =>
      type === "tool.succeeded" ? [JSON.stringify(data.output)] : [],
    );
    expect(answers.filter((answer) => answer.includes("@blob:")).length).toBe(2);
    expect(answers.filter((answer) => answer.includes("left out")).length).toBe(6);
    expect(bytesOf(events)).toBeLessThanOrEqual(maxSessionBytes);
  });

  it("stay within its limit when the session is put away while a file is being stored", async () => {
    const [slow = Buffer.alloc(0), ...others] = shots;
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const kept = memoryBlobs();
    const store: BlobStore = {
      ...kept,
      put: async (source, options) => {
        if (source instanceof Uint8Array && hash("sha256", source) === hash("sha256", slow)) {
          begun.resolve();
          await gate.promise;
        }
        return await kept.put(source, options);
      },
    };
    const options = { blobs: { store, maxSessionBytes }, idleAfterMs: 1 };
    await using open = await openSession({ model: scriptedModel(["1", "2", "3"]) }, options);
    const first = open.session.send(file(slow));
    await begun.promise;
    // Timers end in their order: by then the idle session has been put away.
    await setTimeout(3);
    for (const other of others.slice(0, 2)) {
      await (
        await open.session.send(file(other))
      ).result;
    }
    gate.resolve();
    await expect(first).rejects.toMatchObject({ code: "BLOB_TOO_LARGE" });
    expect(bytesOf(await open.events())).toBeLessThanOrEqual(maxSessionBytes);
  });
});
