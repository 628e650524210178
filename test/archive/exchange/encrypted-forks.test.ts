/** Sealed exports of sessions that share events: what is in the file can be read again, or is refused. */

import { describe, expect, it } from "vitest";
import { encryptingLog, type EncryptedLog } from "../../../src/store/encryption/index.ts";
import { eventLine, headerLine } from "../../../src/events/index.ts";
import {
  createRuntime,
  exportSession,
  importSession,
  memoryKeys,
  openMemoryLog,
  verifySession,
  type KeyStore,
} from "../../../src/public/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { storedEvents } from "../../support/replay.ts";

interface Family extends AsyncDisposable {
  readonly log: EncryptedLog;
  readonly keys: KeyStore;
}

/** An encrypted log with `s`, its fork `f`, and `g`, a fork of that one. */
async function family(): Promise<Family> {
  const keys = memoryKeys();
  const stored = await openMemoryLog();
  await using runtime = await createRuntime({
    log: stored,
    encryption: { keys },
    agent: { model: scriptedModel(["One.", "Two.", "Three."]) },
  });
  const s = await runtime.session("s");
  await (
    await s.send("First secret?")
  ).result;
  const f = await s.fork({ id: "f" });
  await (
    await f.send("Second secret?")
  ).result;
  const g = await f.fork({ id: "g" });
  await (
    await g.send("Third secret?")
  ).result;
  const log = encryptingLog(stored, keys);
  return { log, keys, [Symbol.asyncDispose]: () => log.close() };
}

/** As a sealed export was that did not look at who wrote what. */
async function sealedLines(log: EncryptedLog, session: string): Promise<string[]> {
  const events = await storedEvents(log.stored, session);
  return [headerLine({ session, events: events.length }), ...events.map(eventLine)];
}

describe("a sealed export", () => {
  it("of a fork is refused before its first line, with what to do instead", async () => {
    await using open = await family();
    for (const [session, parent] of [
      ["f", "s"],
      ["g", "f"],
    ] as const) {
      await expect(exportSession(open.log.stored, session).next()).rejects.toMatchObject({
        code: "COMMAND_REFUSED",
        session,
      });
      await expect(exportSession(open.log.stored, session).next()).rejects.toThrow(
        `turnlog delete ${parent} --forks copy`,
      );
    }
  });

  it("of a fork that has its own copy, and one in plain text, are read as they were said", async () => {
    await using open = await family();
    const before = await storedEvents(open.log, "f");
    const plain = await Array.fromAsync(exportSession(open.log, "f"));
    await open.log.delete("s", { forks: "copy" });
    const sealed = await Array.fromAsync(exportSession(open.log.stored, "f"));
    expect(sealed.join()).not.toContain("secret");
    for (const [lines, keys] of [
      [plain, memoryKeys()],
      [sealed, open.keys],
    ] as const) {
      await using other = encryptingLog(await openMemoryLog(), keys);
      await importSession(other, lines);
      expect(await storedEvents(other, "f")).toEqual(before);
      expect(await verifySession(other, "f")).toMatchObject({ problems: [] });
    }
  });

  it("of a fork that was made all the same is not imported where its key can be tried", async () => {
    await using open = await family();
    const lines = await sealedLines(open.log, "f");
    await using other = encryptingLog(await openMemoryLog(), open.keys);
    await expect(importSession(other, lines)).rejects.toMatchObject({
      code: "KEY_WRONG",
      session: "f",
      position: 2,
    });
    expect(await other.revision("f")).toBe(0);
    // The session itself is read with the same keys.
    await importSession(other, await sealedLines(open.log, "s"));
    expect(await storedEvents(other, "s")).toEqual(await storedEvents(open.log, "s"));
  });
});
