/**
 * Imports in several parts, killed with SIGKILL: the store opens and is sound, the session is absent or
 * whole, and a second import works.
 */

import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import {
  encryptedLog,
  exportSession,
  folderKeys,
  importMessages,
  importSession,
  openLog,
  openMemoryLog,
  verifyLog,
  type EventLog,
} from "../../src/public/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { startChild } from "../store/leveldb/process.ts";
import { seededRandom } from "../support/random.ts";
import { long, lot, times } from "../support/runs.ts";

const seed = `turnlog-${lot}`;
const script = fileURLToPath(new URL("import-child.ts", import.meta.url));
const kills = times(2, 3);
const PARTS = 5;
/** Most turns of the event loop: a part takes some, and an idle machine does many in the time of a part. */
const TURNS = long ? 200 : 20;

it.each(["plain", "encrypted"])(
  `a store (%s) has all of a session or nothing of it, whenever its import is killed`,
  async (kind) => {
    await using folder = await temporaryFolder();
    const random = seededRandom(`${seed}-${kind}`);
    const lines = await longSession();
    await folder.write("file.jsonl", `${lines.join("\n")}\n`);
    const found = { killed: 0, absent: 0, whole: 0 };
    for (let kill = 0; kill < kills; kill++) {
      // 0 is the check of the file; behind the last part, the session becomes visible.
      const drawn = long ? kill % (PARTS + 2) : PARTS + 1 - 2 * kill;
      // The last kill comes in the second part for certain: the session must be absent then.
      const isCertain = kill === kills - 1;
      const part = isCertain ? 2 : drawn;
      const turns = isCertain ? 0 : random.below(TURNS);
      const [dir, keys] = [folder.at(`${kill}`), folder.at(`${kill}-keys`)];
      const open = async (): Promise<EventLog> => {
        const log = await openLog({ dir, durability: "os" });
        return kind === "plain" ? log : encryptedLog(log, folderKeys(keys));
      };
      {
        await using log = await open();
        await importMessages(log, [{ role: "user", content: "Before." }], {
          from: "model-messages",
          as: "before",
        });
      }
      const given = [dir, kind === "plain" ? "-" : keys, folder.at("file.jsonl")];
      const child = startChild([...given, `${part}`, `${turns}`], { script });
      const said = await child.ended;
      const where = `${seed}: part ${part}, ${turns} turns`;
      if (child.process.signalCode === "SIGKILL") found.killed += 1;

      await using log = await open();
      const { problems, sessions } = await verifyLog(log);
      const all = [...problems, ...sessions.flatMap((session) => session.problems)];
      expect(all, where).toEqual([]);
      const names = sessions.map(({ session }) => session);
      const isWhole = names.includes("s");
      expect(names, where).toEqual(isWhole ? ["before", "s"] : ["before"]);
      expect(isWhole || !said.includes("imported"), where).toBe(true);
      found[isWhole ? "whole" : "absent"] += 1;
      if (!isWhole) await importSession(log, lines);
      expect(await Array.fromAsync(exportSession(log, "s")), where).toEqual(lines);
      expect((await verifyLog(log)).sessions[1]?.problems, where).toEqual([]);
    }
    console.log(`${kind}: ${JSON.stringify(found)}`);
    expect(found.killed).toBeGreaterThan(kills / 2);
    expect(found.absent).toBeGreaterThan(0);
  },
);

/** The lines of a session that comes in {@link PARTS} parts; a long one has stored states on the way. */
async function longSession(): Promise<readonly string[]> {
  await using log = await openMemoryLog();
  const turns = long ? 310 : 13;
  const talk = Array.from({ length: turns }, (_, index) => [
    { role: "user", content: `Question ${index}?` } as const,
    { role: "assistant", content: "word ".repeat(572_000 / turns) } as const,
  ]);
  await importMessages(log, talk.flat(), { from: "model-messages", as: "s" });
  return await Array.fromAsync(exportSession(log, "s"));
}
