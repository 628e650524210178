/**
 * The keys of a log's sessions. Loads each once, finishes interrupted erasures before its first
 * use, and finds the key of a shared event by the session that wrote it.
 */

import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  TurnlogError,
  type EventLog,
  type ForkPoint,
  type PositionRange,
  assertKnownFormat,
} from "../../events/index.ts";
import { keyMissing, type KeyStore, jsonOf, UNFINISHED } from "./key-store.ts";
import { isEncrypted } from "./encrypted-event.ts";
import { SessionKey } from "./session-key.ts";
import { z } from "zod";

export interface KeyRange extends PositionRange {
  readonly key: SessionKey;
}

export class KeyRing {
  readonly #log: EventLog;
  readonly #keys: KeyStore;
  readonly #loaded = new Map<string, Promise<SessionKey | undefined>>();
  readonly #known = new Map<string, SessionKey>();
  readonly #unfinished: UnfinishedErasures;
  #settled: Promise<void> | undefined;
  /** Where sessions branch off. Cleared when a session is deleted. */
  readonly #links = new Map<string, ForkPoint | undefined>();

  constructor(log: EventLog, keys: KeyStore) {
    this.#log = log;
    this.#keys = keys;
    this.#unfinished = new UnfinishedErasures(keys);
  }

  known(session: string): SessionKey | undefined {
    return this.#known.get(session);
  }

  async of(session: string): Promise<SessionKey | undefined> {
    await this.settled();
    return await this.#of(session);
  }

  async settled(): Promise<void> {
    this.#settled ??= this.#unfinished.load().then(async (sessions) => {
      for (const session of sessions) {
        if ((await this.#log.revision(session)) > 0) {
          // What cannot be read needs no erasing, and its reader is told. It stays on the list.
          if (!(await this.#isReadable(session))) continue;
        } else if (await this.#isDeleted(session)) await this.#keys.erase(session);
        await this.#unfinished.end(session);
      }
    });
    try {
      await this.#settled;
    } catch (error) {
      this.#settled = undefined;
      throw error;
    }
  }

  /** Runs a function that ends with the erasure of a key, by this process or by the next. */
  async erasing<Result>(session: string, act: () => Promise<Result>): Promise<Result> {
    await this.settled();
    await this.#unfinished.begin(session);
    const result = await act();
    await this.#unfinished.end(session);
    return result;
  }

  async #isReadable(session: string): Promise<boolean> {
    try {
      await this.#of(session);
      return true;
    } catch (error) {
      if (TurnlogError.isInstance(error) && error.code === "KEY_WRONG") return false;
      throw error;
    }
  }

  async #isDeleted(session: string): Promise<boolean> {
    for await (const one of this.#log.deleted()) if (one.session === session) return true;
    return false;
  }

  async #of(session: string): Promise<SessionKey | undefined> {
    const loading = this.#loaded.get(session) ?? this.#load(session);
    this.#loaded.set(session, loading);
    try {
      const key = await loading;
      // A missing key may be created later.
      if (key === undefined) this.#loaded.delete(session);
      return key;
    } catch (error) {
      this.#loaded.delete(session);
      throw error;
    }
  }

  /** Created and saved if there is none. @throws TurnlogError `KEY_MISSING` if the session has encrypted events */
  async forWriting(session: string): Promise<SessionKey> {
    const known = await this.of(session);
    if (known !== undefined) return known;
    if (await this.hasEncryptedEvents(session)) throw keyMissing(session);
    const made = SessionKey.create(session);
    await this.save(made);
    this.#loaded.set(session, Promise.resolve(made));
    this.#known.set(session, made);
    return made;
  }

  async save(key: SessionKey): Promise<void> {
    await this.#keys.save(key.session, key.toString());
  }

  async eraseNoted(key: SessionKey): Promise<void> {
    // A fork may have inherited these keys for copies that it never got.
    await this.#disinherit(key.session);
    key.erase();
    await this.save(key);
  }

  async erase(session: string): Promise<void> {
    await this.#keys.erase(session);
    this.#known.delete(session);
    this.#loaded.delete(session);
    this.#links.clear();
  }

  /** Reads the key of a session again at its next use: another process may have erased a part of it. */
  reread(session: string): void {
    this.#known.delete(session);
    this.#loaded.delete(session);
  }

  /** The same for a session that this process takes, and for those that it branches off: it has events of theirs. */
  async rereadLine(session: string): Promise<void> {
    this.unlink();
    for (let owner: string | undefined = session; owner !== undefined;) {
      this.reread(owner);
      owner = (await this.linkOf(owner))?.session;
    }
  }

  unlink(): void {
    this.#links.clear();
  }

  async hasEncryptedEvents(session: string): Promise<boolean> {
    const link = await this.linkOf(session);
    for await (const event of this.#log.read(session, { from: (link?.position ?? 0) + 1 }))
      if (isEncrypted(event)) return true;
    return false;
  }

  /** Gives each fork of a session the keys of its shared events, before it gets its copies. */
  async bequeath(session: string): Promise<void> {
    const from = await this.of(session);
    const link = await this.linkOf(session);
    if (from === undefined) return;
    for await (const { session: fork, forkedFrom } of this.#log.list()) {
      if (forkedFrom?.session !== session) continue;
      const key = await this.forWriting(fork);
      key.inherit(from, (link?.position ?? 0) + 1, forkedFrom.position);
      await this.save(key);
    }
  }

  /** The key of an event, with the range of positions that it serves. */
  async range(session: string, position: number): Promise<KeyRange | undefined> {
    const found = await this.#find(session, position);
    if (found !== undefined) return found;
    // The writer may have been deleted since it was looked up.
    this.#links.clear();
    return await this.#find(session, position);
  }

  /** Changes when something is erased in any session that it shares events with. */
  async snapshotKey(session: string, by: string): Promise<Buffer | undefined> {
    for (let owner: string | undefined = session; owner !== undefined;) {
      const key = await this.of(owner);
      const secret = owner === by ? key?.snapshots : key?.snapshotsOf(by);
      if (secret !== undefined) return await this.#withLineage(secret, owner);
      owner = (await this.linkOf(owner))?.session;
    }
    return undefined;
  }

  async linkOf(session: string): Promise<ForkPoint | undefined> {
    if (this.#links.has(session)) return this.#links.get(session);
    // The list begins with this name, if it exists.
    for await (const entry of this.#log.list({ prefix: session })) {
      if (entry.session !== session) break;
      this.#links.set(session, entry.forkedFrom);
      return entry.forkedFrom;
    }
    return undefined;
  }

  async #load(session: string): Promise<SessionKey | undefined> {
    const text = await this.#keys.load(session);
    if (text === undefined) return undefined;
    const key = SessionKey.parse(session, text);
    await this.#settle(key);
    this.#known.set(session, key);
    return key;
  }

  /** Finishes an erasure during which a process died. */
  async #settle(key: SessionKey): Promise<void> {
    const { session, erasing } = key;
    if (erasing === undefined) return;
    const { position, ranges } = erasing;
    const events = await Array.fromAsync(this.#log.read(session, { from: position, to: position }));
    const isRecorded = events.some(
      ({ type, data }) => type === "session.redacted" && isDeepStrictEqual(data.ranges, ranges),
    );
    if (isRecorded) return await this.eraseNoted(key);
    // Not saved: the process that noted it may live, and save the key without those parts.
    key.cancelErasing();
  }

  /** Removes the keys that forks would have inherited had the session been deleted. */
  async #disinherit(session: string): Promise<void> {
    for await (const { session: fork, forkedFrom } of this.#log.list()) {
      if (forkedFrom?.session !== session) continue;
      const key = await this.#of(fork);
      if (key?.disinherit(session) === true) await this.save(key);
    }
  }

  async #find(session: string, position: number): Promise<KeyRange | undefined> {
    let to = Number.POSITIVE_INFINITY;
    for (let owner = session; ;) {
      const key = await this.of(owner);
      const part = key?.inherited(position);
      if (key !== undefined && part !== undefined)
        return { key, from: part.from, to: Math.min(to, part.to) };
      const link = await this.linkOf(owner);
      if (link === undefined || position > link.position)
        return key && { key, from: (link?.position ?? 0) + 1, to };
      to = Math.min(to, link.position);
      owner = link.session;
    }
  }

  async #withLineage(secret: Buffer, session: string): Promise<Buffer> {
    const secrets = [secret];
    for (let link = await this.linkOf(session); link !== undefined;) {
      const key = await this.of(link.session);
      if (key !== undefined) secrets.push(key.snapshots);
      link = await this.linkOf(link.session);
    }
    return hash("sha256", Buffer.concat(secrets), "buffer");
  }
}

/** A deleted session has no key; any other encrypted session should have one. */
export async function withoutKey(
  log: EventLog,
  session: string,
  position: number,
): Promise<TurnlogError> {
  if ((await log.revision(session)) > 0) return keyMissing(session, position);
  return new TurnlogError(
    "SESSION_DELETED",
    `Session ${session} was deleted permanently while it was being read.`,
    { session, position },
  );
}

// The list of sessions whose keys are about to be erased, saved in the key store until they are.

/** Not saved while it is the first. */
const FORMAT = 1;

const schema = z.object({
  turnlog: z.literal("unfinished-erasures"),
  sessions: z.array(z.string()),
});

class UnfinishedErasures {
  readonly #keys: KeyStore;
  readonly #sessions = new Map<string, number>();
  #saving: Promise<void> = Promise.resolve();

  constructor(keys: KeyStore) {
    this.#keys = keys;
  }

  async load(): Promise<readonly string[]> {
    const text = await this.#keys.load(UNFINISHED);
    if (text === undefined) return [];
    const stored = jsonOf(text);
    assertKnownFormat("The list of unfinished erasures among the keys", stored, FORMAT);
    const read = schema.safeParse(stored);
    if (!read.success)
      throw new TurnlogError(
        "KEY_WRONG",
        `The list of unfinished erasures among the keys (${UNFINISHED}) cannot be read. Restore it from a copy of the keys; without one, remove it, and repeat the redaction or deletion during which the process died.`,
      );
    for (const session of read.data.sessions) this.#sessions.set(session, 1);
    return read.data.sessions;
  }

  async begin(session: string): Promise<void> {
    this.#sessions.set(session, (this.#sessions.get(session) ?? 0) + 1);
    await this.#save();
  }

  async end(session: string): Promise<void> {
    const left = (this.#sessions.get(session) ?? 1) - 1;
    if (left === 0) this.#sessions.delete(session);
    else this.#sessions.set(session, left);
    await this.#save();
  }

  async #save(): Promise<void> {
    const save = async (): Promise<void> => {
      const sessions = [...this.#sessions.keys()];
      if (sessions.length === 0) return await this.#keys.erase(UNFINISHED);
      const text = JSON.stringify({ turnlog: "unfinished-erasures", sessions });
      await this.#keys.save(UNFINISHED, text);
    };
    const saving = this.#saving.then(save);
    this.#saving = saving.catch(() => {});
    await saving;
  }
}
