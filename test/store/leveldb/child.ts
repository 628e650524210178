/**
 * A process of its own that works on a store (with <dir> ending in `.db`: on a file of SQLite), for tests that kill it, lock it out or starve it.
 *
 *   child.ts hold <dir>                     opens, prints `open`, closes when stdin ends; or prints the error as JSON
 *   child.ts append <dir> <durability> <n> [size]
 *                                           appends n events at a time, prints each revision when it is told of it
 *   child.ts fork <dir>                     makes forks of forks, prints how many when it is told of each
 *   child.ts delete <dir>                   makes sessions and forks and deletes them, prints each that it is told is deleted
 *   child.ts redact <dir> <keys>            says things in an encrypted session and redacts them, prints each that it is told is gone
 *   child.ts backup <dir> <to>              copies the store, prints how many events it has read, at last `done`
 *   child.ts open <dir>                     opens and closes in a loop, prints `open` each time
 *   child.ts try <dir>                      opens, appends one event, closes; prints `ok` or the error as JSON
 *   child.ts fill <dir>                     appends until an append fails; prints how many were acknowledged and the error
 */
import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { folderKeys } from "../../../src/store/encryption/folder-keys.ts";
import { TurnlogError, type EventLog, type NewEvent } from "../../../src/events/index.ts";
import type { Durability } from "../../../src/store/leveldb/files/owner.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { openSqliteLog } from "../../../src/store/sqlite/index.ts";
import { encryptingLog } from "../../../src/store/encryption/index.ts";

const [command = "", dir = "", ...rest] = process.argv.slice(2);

/** Straight to the pipe: what was printed is printed, whenever the process dies. */
function print(line: string): void {
  writeSync(1, `${line}\n`);
}

/** A path that ends with `.db` is a file of SQLite, any other a folder. */
function opened(path: string, durability: Durability = "sync"): Promise<EventLog> {
  return path.endsWith(".db")
    ? openSqliteLog({ file: path, durability })
    : openLog({ dir: path, durability });
}

function event(number: number, size = number % 97): NewEvent {
  return {
    type: "part.text-delta",
    time: number,
    data: { id: "0", text: `event ${number} ${"x".repeat(size)}` },
  };
}

function asJson(error: unknown): string {
  if (!TurnlogError.isInstance(error)) throw error;
  return JSON.stringify({ code: error.code, message: error.message, details: error.details });
}

async function append(log: EventLog, count: number, size?: number): Promise<void> {
  let number = await log.revision("s");
  let before: Promise<unknown> = Promise.resolve();
  for (;;) {
    const appends = Array.from({ length: count }, async () => {
      const { revision } = await log.append("s", number, [event(++number, size)], {
        origin: "copied",
      });
      print(String(revision));
    });
    // Two rounds are under way at any moment, so that a batch is always being written.
    await before;
    before = Promise.all(appends);
  }
}

/** Appends to the youngest session and branches off it, several under way at any moment. */
async function fork(log: EventLog): Promise<void> {
  let parent = "s-0";
  let revision = (await log.append(parent, "none", [event(1)], { origin: "copied" })).revision;
  let made = 0;
  const pending = new Set<Promise<void>>();
  for (let number = 1; ; number++) {
    void log.append(parent, revision, [event(number), event(number + 1)], { origin: "copied" });
    revision += 2;
    const at = revision - (number % 3);
    const from = { session: parent, position: at };
    const link = { type: "session.forked", time: number, data: { from } } as const;
    const name = `s-${number}`;
    const making = log.fork(name, [link, event(number), event(number + 1)]).then(() => {
      print(String(++made));
      pending.delete(making);
    });
    pending.add(making);
    // A fork is appended to when it is there.
    if (number % 4 === 0) {
      await Promise.all(pending);
      [parent, revision] = [name, at + 3];
    }
  }
}

/** Each session has a secret of its own; every second has a fork, which outlives it. */
async function deleteAll(log: EventLog): Promise<void> {
  for (let number = 0; ; number++) {
    const name = `s-${number}`;
    const texts = Array.from({ length: 8 }, (_, index): NewEvent => {
      const data = { type: "secret.told", version: 1, data: `secret of ${name}! ${index}` };
      return { type: "unknown", time: index + 1, data };
    });
    await log.append(name, "none", texts, { origin: "copied" });
    const from = { session: name, position: 5 };
    if (number % 2 === 0)
      await log.fork(`f-${number}`, [{ type: "session.forked", time: 9, data: { from } }]);
    await log.delete(name, { forks: "copy" });
    print(name);
  }
}

/** Each session says two secrets, and one of them is redacted; every second has a fork. */
async function redactAll(log: EventLog, keys: string): Promise<void> {
  const encrypted = encryptingLog(log, folderKeys(keys));
  for (let number = 0; ; number++) {
    const name = `s-${number}`;
    const told = (id: string): NewEvent => ({
      type: "message.queued",
      time: 1,
      data: { id, content: `secret of ${name}! ${id}`, delivery: "steer" },
    });
    await encrypted.append(name, "none", [told("stays"), told("goes")], { origin: "copied" });
    const from = { session: name, position: 2 };
    if (number % 2 === 0)
      await encrypted.fork(`f-${number}`, [{ type: "session.forked", time: 9, data: { from } }]);
    await encrypted.erase(name, { ranges: [{ from: 2, to: 2 }] }, 3);
    print(name);
  }
}

async function fill(log: EventLog): Promise<void> {
  let acknowledged = 0;
  // LevelDB compresses: a disk takes ten times as much of what repeats itself.
  const text = randomBytes(1500).toString("base64");
  try {
    for (;;) {
      const large: NewEvent = { type: "part.text-delta", time: 0, data: { id: "0", text } };
      acknowledged = (await log.append("s", acknowledged, [large], { origin: "copied" })).revision;
    }
  } catch (error) {
    print(String(acknowledged));
    print(asJson(error));
  }
  try {
    await log.append("t", "any", [event(1)], { origin: "copied" });
    print("appended after a failure");
  } catch (error) {
    print(asJson(error));
  }
  print(String((await Array.fromAsync(log.read("s"))).length));
  await log.close();
  print("closed");
}

switch (command) {
  case "hold": {
    const options = rest[0] === "reading" ? { dir, readOnly: true as const } : { dir };
    const log = await openLog(options).catch((error: unknown) => print(asJson(error)));
    if (log === undefined) break;
    print("open");
    process.stdin.on("end", () => void log.close()).resume();
    break;
  }
  case "append":
    await append(
      await opened(dir, rest[0] === "os" ? "os" : "sync"),
      Number(rest[1]),
      rest[2] === undefined ? undefined : Number(rest[2]),
    );
    break;
  case "fork":
    await fork(await opened(dir, "os"));
    break;
  case "delete":
    await deleteAll(await opened(dir, "os"));
    break;
  case "redact":
    await redactAll(await openLog({ dir, durability: "os" }), rest[0] ?? "");
    break;
  case "backup": {
    const log = await openLog({ dir });
    await log.backup(rest[0] ?? "", { onProgress: ({ events }) => print(String(events)) });
    print("done");
    process.stdin.on("end", () => void log.close()).resume();
    break;
  }
  case "open":
    for (;;) {
      const log = await openLog({ dir });
      print("open");
      await log.append("s", "any", [event(0)], { origin: "copied" });
      await log.close();
    }
  case "try":
    try {
      const log = await opened(dir);
      await log.append("s", "any", [event(0)], { origin: "copied" });
      await log.close();
      print("ok");
    } catch (error) {
      print(asJson(error));
    }
    break;
  case "fill":
    try {
      await fill(await openLog({ dir }));
    } catch (error) {
      print(asJson(error));
    }
    break;
  default:
    throw new Error(`unknown command ${command}`);
}
