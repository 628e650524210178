/** Real stores in temporary folders: their contents, copies, and damage. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import {
  TurnlogError,
  type EventLog,
  type NewEvent,
  type SessionEvent,
  type TurnlogErrorCode,
} from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";

import { lot } from "../../support/runs.ts";

export { long, patience as timeout, times } from "../../support/runs.ts";

/** A folder that is deleted after the test. */
export async function temporaryFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "turnlog-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** The hash of every file of a store, except the lock, which is no data. */
export async function fingerprint(dir: string): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(dir.length + 1);
    // Reading a lock file of this process would drop its lock, as POSIX locks do.
    if (!entry.isFile() || name.startsWith("lock/") || entry.name === "LOCK") continue;
    files[name] = createHash("sha256")
      .update(await readFile(path))
      .digest("hex");
  }
  return files;
}

/** Expects a store to be refused with a code and its files to be unchanged; returns the error. */
export async function openRefusal(code: TurnlogErrorCode, dir: string): Promise<TurnlogError> {
  const before = await fingerprint(dir);
  const error: unknown = await openLog({ dir }).then(
    (log) => log.close().then(() => undefined),
    (failure: unknown) => failure,
  );
  if (!TurnlogError.isInstance(error)) throw new Error(`opening was not refused: ${String(error)}`);
  expect(error.code, error.message).toBe(code);
  expect(await fingerprint(dir)).toEqual(before);
  return error;
}

/**
 * What a power cut or a kill at this moment would leave; the store may be open, but must not be writing.
 * @param isWritten - Whether it is all the same: files that are gone by then are left out.
 */
export async function copyStore(from: string, to: string, isWritten = false): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const folder = join(to, entry.parentPath.slice(from.length));
    await mkdir(folder, { recursive: true });
    if (entry.name === "LOCK") await writeFile(join(folder, "LOCK"), "");
    else {
      const path = join(entry.parentPath, entry.name);
      await copyFile(path, join(folder, entry.name)).catch((error: unknown) => {
        if (!isWritten || existsSync(path)) throw error;
      });
    }
  }
}

/** Inverts one bit. */
export async function flipBit(path: string, offset: number, bit: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit);
  await writeFile(path, bytes);
}

export async function cut(path: string, length: number): Promise<void> {
  await truncate(path, length);
}

/** Files of the log with this extension, largest first, without empty ones. */
export async function logFiles(
  dir: string,
  ending: RegExp,
): Promise<{ readonly path: string; readonly size: number }[]> {
  const log = join(dir, "log");
  const files = [];
  for (const name of await readdir(log)) {
    if (!ending.test(name)) continue;
    const path = join(log, name);
    const { length } = await readFile(path);
    if (length > 0) files.push({ path, size: length });
  }
  return files.toSorted((one, other) => other.size - one.size);
}

/** Pseudorandom numbers in [0, 1), the same for the same seed and lot (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed + lot;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** All appended events by session, and the global order as `session:position`. */
export interface Truth {
  readonly sessions: ReadonlyMap<string, readonly SessionEvent[]>;
  readonly order: readonly string[];
}

/** How many events {@link fill} appends at once. */
export const LARGEST_BATCH = 300;

/** Fills a log with events of several sessions in batches of all sizes. */
export async function fill(
  log: EventLog,
  count: number,
  random: () => number,
  before?: Truth,
): Promise<Truth> {
  const sessions = new Map(
    [...(before?.sessions ?? [])].map(([session, events]) => [session, [...events]]),
  );
  const order = [...(before?.order ?? [])];
  const first = order.length;
  for (let number = 0; number < count;) {
    const appends: Promise<unknown>[] = [];
    const size = Math.min(count - number, 1 + Math.floor(random() ** 3 * LARGEST_BATCH));
    for (let index = 0; index < size; index++, number++) {
      const session = `session-${Math.floor(random() * 6)}`;
      const events = sessions.get(session) ?? [];
      sessions.set(session, events);
      const event = anyEvent(first + number, random);
      events.push({ ...event, position: events.length + 1 });
      const place = `${session}:${events.length}`;
      appends.push(
        log
          .append(session, "any", [event], { origin: "copied" })
          .then(({ position }) => (order[position - 1] = place)),
      );
    }
    await Promise.all(appends);
  }
  return { sessions, order };
}

function anyEvent(number: number, random: () => number): NewEvent {
  const text = `${number} ${"lorem ipsum dolor sit amet ".repeat(Math.floor(random() * 4))}${random()}`;
  const at = 1_700_000_000_000 + number;
  if (random() < 0.02)
    return {
      type: "message.queued",
      time: at,
      data: { id: `m${number}`, content: text, delivery: "steer" },
      id: `event ${number}`,
    };
  if (random() < 0.02)
    return {
      type: "unknown",
      time: at,
      data: { type: "later.happened", version: 3, data: [text] },
    };
  return { type: "part.text-delta", time: at, data: { id: "0", text } };
}
