/** `node memory-child.ts verify|import <store> [<file> [<keys>]]`: does that in a process whose heap may be limited. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import {
  encryptedLog,
  folderKeys,
  importSession,
  openLog,
  verifyLog,
} from "../../../src/public/index.ts";

const [act, dir = "", file = "", keys] = process.argv.slice(2);
const stored = await openLog({ dir, durability: "os" });
await using log = keys === undefined ? stored : encryptedLog(stored, folderKeys(keys));
if (act === "verify") {
  const { sessions, problems } = await verifyLog(log);
  const found = [...problems, ...sessions.flatMap((session) => session.problems)];
  if (found.length > 0) throw new Error(JSON.stringify(found));
} else {
  await importSession(log, linesOf(file));
}

async function* linesOf(path: string): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(path), crlfDelay: Infinity });
}
