/** What is erased is erased, whenever a process dies: said and not done is finished by the next one. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderKeys } from "../../../src/store/encryption/folder-keys.ts";
import { memoryKeys, type KeyStore } from "../../../src/store/encryption/key-store.ts";
import type { EventLog, NewEvent } from "../../../src/events/index.ts";
import { openLog, openMemoryLog } from "../../../src/store/leveldb/open-store.ts";
import { listSessions } from "../../../src/state/index.ts";
import { createRuntime, dropOldest, tokens, verifyLog } from "../../../src/public/index.ts";
import { wrapLog } from "../../../src/replay/index.ts";
import { forked } from "../../../src/testing/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { call, calling, saying } from "../../support/script.ts";
import { echo } from "../../runtime/tools.ts";
import { temporaryFolder, timeout } from "../leveldb/disk.ts";
import { startChild } from "../leveldb/process.ts";
import { traces } from "../leveldb/traces.ts";
import { redactSession } from "../../../src/archive/index.ts";
import { encryptingLog } from "../../../src/store/encryption/index.ts";

function told(id: string): NewEvent {
  return {
    type: "message.queued",
    time: 1,
    data: { id, content: `secret ${id}`, delivery: "steer" },
  };
}

/** A process that dies at one of its writes, before or after it is done: nothing of it comes later. */
function mortal(log: EventLog, keys: KeyStore, at: number, after: boolean) {
  let writes = 0;
  const write = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    const number = writes++;
    if (number < at || (number === at && after)) {
      const result = await act();
      if (number < at) return result;
    }
    throw new Error("dead");
  };
  const mortalLog = wrapLog(log, {
    append: (...append) => write(() => log.append(...append)),
    delete: (...deletion) => write(() => log.delete(...deletion)),
  });
  const mortalKeys: KeyStore = {
    load: (session) => keys.load(session),
    save: (...saved) => write(() => keys.save(...saved)),
    erase: (session) => write(() => keys.erase(session)),
  };
  return encryptingLog(mortalLog, mortalKeys);
}

async function begun(): Promise<{ log: EventLog; keys: KeyStore }> {
  const [log, keys] = [await openMemoryLog(), memoryKeys()];
  const encrypted = encryptingLog(log, keys);
  await encrypted.append("s", "none", [told("stays"), told("goes"), told("last")]);
  await encrypted.fork("f", [forked("s", 2)]);
  await encrypted.append("f", 3, [told("own")]);
  return { log, keys };
}

async function said(log: EventLog, session: string): Promise<string> {
  return JSON.stringify(await Array.fromAsync(log.read(session)));
}

describe("a process that dies at any of its writes", () => {
  it("while it redacts: the next has all of it redacted if the log says so, and nothing if not", async () => {
    const outcomes = new Set<string>();
    for (const after of [false, true]) {
      let finished = false;
      for (let at = 0; !finished; at++) {
        const { log, keys } = await begun();
        const dying = mortal(log, keys, at, after);
        finished = await dying.erase("s", { ranges: [{ from: 2, to: 2 }] }, 9).then(
          () => true,
          () => false,
        );
        const again = encryptingLog(log, keys);
        const isSaid = (await log.revision("s")) === 4;
        outcomes.add(`${finished} ${isSaid}`);
        for (const name of ["f", "s"]) {
          const text = await said(again, name);
          expect(text.includes("secret goes"), `${at} ${after}`).toBe(!isSaid);
          expect(text).toContain("secret stays");
        }
        expect(await keys.load("-unfinished")).toBeUndefined();
        // The other way round, it may be asked for again.
        if (!isSaid) await again.erase("s", { ranges: [{ from: 2, to: 2 }] }, 9);
        expect(await said(again, "f")).not.toContain("secret goes");
      }
    }
    expect([...outcomes].toSorted()).toEqual(["false false", "false true", "true true"]);
  });

  it("while it deletes: the key goes with the session, and forks keep theirs", async () => {
    for (const after of [false, true]) {
      let finished = false;
      for (let at = 0; !finished; at++) {
        const { log, keys } = await begun();
        const dying = mortal(log, keys, at, after);
        finished = await dying.delete("s", { forks: "copy" }).then(
          () => true,
          () => false,
        );
        const again = encryptingLog(log, keys);
        await again.settled();
        const isThere = (await log.revision("s")) > 0;
        expect((await keys.load("s")) !== undefined, `${at} ${after}`).toBe(isThere);
        const fork = await said(again, "f");
        expect(fork).toContain("secret goes");
        expect(fork).toContain("secret own");
        // Forks that share its events lose them, also in a deletion that was only begun.
        await again.erase(isThere ? "s" : "f", { ranges: [{ from: 2, to: 2 }] }, 9);
        expect(await said(again, "f")).not.toContain("secret goes");
        expect(await said(encryptingLog(log, keys), "f")).not.toContain("secret goes");
        expect(await said(again, "f")).toContain("secret stays");
      }
    }
  });

  it(
    "killed at any moment: what it had erased is gone, and the rest can be read",
    async () => {
      const root = await temporaryFolder();
      for (let kill = 0; kill < 4; kill++) {
        const [dir, keys] = [join(root, String(kill)), join(root, `keys-${kill}`)];
        const child = startChild(["redact", dir, keys]);
        await child.line((line) => line === `s-${2 + 4 * kill}`);
        for (let turns = 61 * kill; turns > 0; turns--)
          await new Promise((resolve) => setImmediate(resolve));
        await child.kill();
        await using log = encryptingLog(await openLog({ dir }), folderKeys(keys));
        await log.settled();
        for await (const { session, revision } of log.list()) {
          const text = await said(log, session);
          expect(text).toContain("! stays");
          const isSaid = session.startsWith("s") && revision === 3;
          expect(child.lines.includes(session) && revision !== 3).toBe(false);
          const parent = session.replace("f", "s");
          const isGone = isSaid || (await log.revision(parent)) === 3;
          expect(text.includes("! goes"), session).toBe(!isGone);
        }
        expect(await traces(dir, /secret of/)).toEqual([]);
      }
    },
    timeout,
  );
});

describe("the bytes of an encrypted store", () => {
  it("hold nothing that was said, wherever it came from, and its list tells titles with the key alone", async () => {
    const root = await temporaryFolder();
    const [dir, keys] = [join(root, "store"), folderKeys(join(root, "keys"))];
    const long = Array.from({ length: 2100 }, (_, at) => `planted-${at} `);
    const script = [
      calling(
        { type: "reasoning", deltas: ["planted-thought"] },
        call("echo", "c", { value: "planted-input" }),
      ),
      saying(...long),
      "planted-more",
      "planted-last",
      "planted-fork",
    ];
    const model = scriptedModel(script);
    const context = { compact: { when: tokens(50), how: dropOldest({ keepTurns: 1 }) } };
    {
      await using runtime = await createRuntime({
        dir,
        durability: "os",
        hashChain: true,
        encryption: { keys },
        agent: { model, tools: { echo }, context },
      });
      const session = await runtime.session("s");
      for (const text of ["planted-title", "planted-question", "planted-again"])
        await (
          await session.send(text)
        ).result;
      const fork = await session.fork({ id: "f" });
      await (
        await fork.send("planted-in-fork")
      ).result;
      await fork.close("planted-reason");
      const titles = (await Array.fromAsync(runtime.sessions())).map(({ title }) => title);
      expect(titles).toEqual(["planted-title", "planted-title"]);
    }
    // The same texts are found where they are not encrypted.
    const plain = join(root, "plain");
    {
      const model = scriptedModel(["planted-plain"]);
      await using runtime = await createRuntime({ dir: plain, durability: "os", agent: { model } });
      await (
        await (await runtime.session("s")).send("planted-title")
      ).result;
    }
    // Whole names: compressed, a letter of something else may follow one.
    expect(await traces(plain, /planted-(?:plain|title)/)).toEqual([
      "planted-plain",
      "planted-title",
    ]);
    expect(await traces(dir, /planted/)).toEqual([]);
    const kept = await traces(dir, /n\/s\/(?:session@|session-summary)/);
    expect(kept).toEqual(["n/s/session-summary", "n/s/session@"]);
    for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
      // Reading a lock file would let go of its lock.
      if (!entry.isFile() || entry.name === "LOCK") continue;
      const bytes = await readFile(join(entry.parentPath, entry.name), "latin1");
      expect(bytes, entry.name).not.toContain("planted");
    }
    await using store = await openLog({ dir });
    const blind = encryptingLog(store, undefined, { withoutKey: "redact" });
    const titles = (await Array.fromAsync(listSessions(blind))).map(({ title }) => title);
    expect(titles).toEqual(["[redacted]", "[redacted]"]);
    const { sessions, problems } = await verifyLog(blind);
    expect([...problems, ...sessions.flatMap((one) => one.problems)]).toEqual([]);
  });
});

describe("a backup of an encrypted store", () => {
  it("is read with the keys as they are today: what was redacted since cannot be", async () => {
    const root = await temporaryFolder();
    const keys = folderKeys(join(root, "keys"));
    const [dir, copy] = [join(root, "store"), join(root, "copy")];
    await using store = await openLog({ dir, durability: "os" });
    const log = encryptingLog(store, keys);
    await log.append("s", "none", [told("stays"), told("goes")]);
    await log.append("t", "none", [told("other")]);
    await log.saveSnapshot("s", { projection: "p", version: 1, position: 2, state: "goes" });
    await store.backup(copy);
    await using before = await openLog({ dir: copy });
    expect(await said(encryptingLog(before, keys), "s")).toContain("secret goes");
    await log.erase("s", { ranges: [{ from: 2, to: 2 }] }, 9);
    await log.delete("t");
    const after = encryptingLog(before, keys);
    expect(await said(after, "s")).toContain("secret stays");
    expect(await said(after, "s")).not.toContain("secret goes");
    expect(await after.loadSnapshot("s", "p")).toBeUndefined();
    await expect(said(after, "t")).rejects.toMatchObject({ code: "KEY_MISSING" });
    await expect(redactSession(log, "t", [1])).rejects.toMatchObject({ code: "SESSION_DELETED" });
  });
});
