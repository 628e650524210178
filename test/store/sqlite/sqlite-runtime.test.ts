/** Sessions in a file of SQLite, encrypted or not: turns, a fork, a rewind and a redaction, across a restart. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyLog } from "../../../src/archive/verify/index.ts";
import type { EventLog } from "../../../src/events/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { createRuntime, type Session } from "../../../src/public/index.ts";
import { encryptedLog, folderKeys } from "../../../src/store/encryption/index.ts";
import { openSqliteLog } from "../../../src/store/sqlite/index.ts";
import { temporaryFolder } from "../leveldb/disk.ts";

async function say(session: Session, text: string): Promise<void> {
  await (await session.send(text)).untilRest();
}

async function asked(log: EventLog, session: string): Promise<readonly unknown[]> {
  const events = await Array.fromAsync(log.read(session));
  return events.flatMap((event) => (event.type === "message.queued" ? [event.data.content] : []));
}

describe.each(["plain", "encrypted"])("a runtime on a file of SQLite, %s", (kind) => {
  it("continues forks, rewinds and redactions after a restart", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "sessions.db");
    const open = async (): Promise<EventLog> => {
      const log = await openSqliteLog({ file, durability: "os" });
      return kind === "plain" ? log : encryptedLog(log, folderKeys(join(folder, "keys")));
    };
    const model = scriptedModel(Array.from({ length: 8 }, (_, at) => `Answer ${at + 1}.`));
    const agent = { model };
    {
      await using log = await open();
      await using runtime = await createRuntime({ log, agent });
      const session = await runtime.session("s");
      await say(session, "tomato");
      await say(session, "cucumber");
      const fork = await session.fork({ id: "f" });
      await session.rewind({ beforeTurn: 2 });
      await say(session, "potato");
      await say(fork, "onion");
      if (kind === "encrypted") {
        const events = await Array.fromAsync(log.read("s"));
        const told = events.find(({ type }) => type === "message.queued");
        await session.redact(told?.position ?? 0);
      }
    }
    await using log = await open();
    await using runtime = await createRuntime({ log, agent });
    const fork = await runtime.session("f");
    await say(fork, "garlic");
    const [said, ...later] = await asked(log, "s");
    expect(said === "tomato").toBe(kind === "plain");
    expect(later).toEqual(["cucumber", "potato"]);
    expect(await asked(log, "f")).toEqual([said, "cucumber", "onion", "garlic"]);
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    const known = ["tomato", "cucumber", "potato", "onion", "garlic"].filter((word) =>
      prompt.includes(word),
    );
    const expected = ["cucumber", "onion", "garlic"];
    expect(known).toEqual(kind === "plain" ? ["tomato", ...expected] : expected);
    const { problems, sessions } = await verifyLog(log);
    expect([problems, ...sessions.map((one) => one.problems)]).toEqual([[], [], []]);
    await runtime.close();
    await log.close();
    expect((await readFile(file, "latin1")).includes("cucumber")).toBe(kind === "plain");
  });
});
