/** Stores to damage, with all that was acknowledged in them, and what can happen to a file of them. */

import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createRuntime, folderKeys, openLog, type EventLog } from "../../src/public/index.ts";
import type { Appended, NewEvent, SessionEvent } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { copyStore } from "../store/leveldb/disk.ts";
import { ask } from "../support/asking.ts";
import { png } from "../support/media.ts";

/** The own events of each session, as the log below any encryption acknowledged them. */
export type Ledger = ReadonlyMap<string, readonly NewEvent[]>;

export interface Template {
  readonly name: string;
  /** Has `store` and, of an encrypted one, `keys`. */
  readonly folder: string;
  readonly isEncrypted: boolean;
  readonly ledger: Ledger;
}

export type Past = "killed" | "closed" | "closed, then killed" | "killed with much in it";

/** Notes outside of the store what was acknowledged. */
function noting(log: EventLog, ledger: Map<string, NewEvent[]>): EventLog {
  const note = (session: string, events: readonly NewEvent[], { revision }: Appended): void => {
    const noted = ledger.get(session) ?? [];
    ledger.set(session, noted);
    for (const [index, event] of events.entries()) noted[revision - events.length + index] = event;
  };
  return wrapLog(log, {
    ...(log.blobs === undefined ? {} : { blobs: log.blobs }),
    append: async (session, expected, events, options) => {
      const appended = await log.append(session, expected, events, options);
      if (!appended.repeated) note(session, events, appended);
      return appended;
    },
    fork: async (session, events) => {
      const appended = await log.fork(session, events);
      note(session, events, appended);
      return appended;
    },
  });
}

/** In copies that a kill at this moment leaves; `closed` ones without anything under way. */
export async function makeTemplate(
  root: string,
  past: Past,
  isEncrypted: boolean,
): Promise<Template> {
  const name = `${isEncrypted ? "encrypted" : "plain"}, ${past}`;
  const [live, folder] = [join(root, `${name}, live`), join(root, name)];
  const ledger = new Map<string, NewEvent[]>();
  const run = async (from: number, to: number, words: number): Promise<() => Promise<void>> => {
    const log = await openLog({ dir: join(live, "store") });
    const runtime = await createRuntime({
      log: noting(log, ledger),
      agent: { model: scriptedModel(() => randomBytes(words).toString("base64")) },
      blobs: { store: log.blobs },
      ...(isEncrypted ? { encryption: { keys: folderKeys(join(live, "keys")) } } : {}),
    });
    for (let number = from; number < to; number++) {
      const session = await runtime.session(`session-${number % 4}`);
      await ask(session, `What is ${number}?`);
      if (number !== from) continue;
      const data = png({ width: 90, height: 90, seed: number });
      const file = { type: "file", data, mediaType: "image/png" } as const;
      await (
        await session.send([{ type: "text", text: "And this?" }, file])
      ).result;
    }
    return async () => {
      await runtime.close();
      await log.close();
    };
  };
  const isLarge = past === "killed with much in it";
  let close = await run(0, isLarge ? 40 : 8, isLarge ? 150_000 : 300);
  if (past !== "killed" && !isLarge) await close();
  if (past === "closed, then killed") close = await run(8, 14, 300);
  await copyStore(live, folder);
  await close();
  rmSync(live, { recursive: true });
  return { name, folder, isEncrypted, ledger };
}

/** LevelDB's own notes and locks hold nothing; the others may be damaged. */
export function filesOf(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((name) => !/(?:^|\/)(?:LOCK|LOG|LOG\.old)$|^store\/lock\//.test(name))
    .toSorted();
}

/** The kind of a file: of each kind as many are damaged as of the others. */
export function kindOf(name: string): string {
  if (name.startsWith("keys/")) return "key";
  if (name.startsWith("store/blobs/")) return "blob";
  return /\.(?:ldb|log)$/.exec(name)?.[0] ?? name.replace(/\d+/g, "");
}

export const damages = {
  removed: (path: string): void => rmSync(path),
  cut: (path: string, random: () => number): void => {
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, Math.floor(random() * bytes.length)));
  },
  zeroed: (path: string, random: () => number): void => {
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0, Math.floor(random() * bytes.length)));
  },
  flipped: (path: string, random: () => number): void => {
    const bytes = readFileSync(path);
    const at = Math.floor(random() * bytes.length);
    const bit = 1 << Math.floor(random() * 8);
    if (bytes.length > 0) writeFileSync(path, bytes.fill((bytes[at] ?? 0) ^ bit, at, at + 1));
  },
} as const;

/** The own events of each session that can be read as they were acknowledged, and that are the first ones. */
export async function kept(log: EventLog, ledger: Ledger): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const [session, events] of ledger) {
    let count = 0;
    try {
      for await (const event of log.read(session)) {
        const acknowledged = events[count];
        if (event.position !== count + 1 || !isSame(event, acknowledged))
          throw new Error(`${session}:${event.position} is not what was acknowledged`);
        count += 1;
      }
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error;
    }
    found.set(session, count);
  }
  return found;
}

function isSame(event: SessionEvent, acknowledged: NewEvent | undefined): boolean {
  if (acknowledged === undefined) return false;
  const { position } = event;
  const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  return isDeepStrictEqual(json(event), json({ ...acknowledged, position }));
}
