/**
 * The process that is killed: `node import-child.ts <store> <keys or -> <file> <part> <turns>` imports
 * a session file and dies so many turns of the event loop after that part was asked for.
 */

import { readFileSync, writeSync } from "node:fs";
import { appendParts, type NewEvent } from "../../src/events/index.ts";
import { encryptedLog, folderKeys, importSession, openLog } from "../../src/public/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

const [dir = "", keys = "-", file = "", part = "", turns = ""] = process.argv.slice(2);

function die(left: number): void {
  if (left === 0) process.kill(process.pid, "SIGKILL");
  setImmediate(() => {
    die(left - 1);
  });
}

await using opened = await openLog({ dir, durability: "os" });
const log = wrapLog(opened, {
  appendParts: (session, given, options) => appendParts(opened, session, counted(given), options),
});
// A process dies before the first part, too: then only the file was checked.
if (part === "0") die(Number(turns));
const lines = readFileSync(file, "utf8").trimEnd().split("\n");
await importSession(keys === "-" ? log : encryptedLog(log, folderKeys(keys)), lines);
writeSync(1, "imported\n");

async function* counted(
  given: AsyncIterable<readonly NewEvent[]>,
): AsyncGenerator<readonly NewEvent[]> {
  let count = 0;
  for await (const events of given) {
    count += 1;
    if (String(count) === part) die(Number(turns));
    yield events;
  }
  if (String(count + 1) === part) die(Number(turns));
}
