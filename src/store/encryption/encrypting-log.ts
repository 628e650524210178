/**
 * Encrypts the content of sessions in the log below, each event with its own key. The log below sees legal
 * events, and does order, forks, ids, repair and backup. Reading returns the appended events, or redacted ones.
 */

import { plainEvents, withPlainEvents } from "../../shared/index.ts";
import { check, oneOf, optionsOf } from "../../validation/index.ts";
import {
  type BlobStore,
  appendParts,
  type NewEvent,
  type SessionEvent,
  TurnlogError,
  type Appended,
  type AppendOptions,
  type CursorStore,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type EventLog,
  type ExpectedRevision,
  type FollowOptions,
  type ForkEvents,
  type GlobalEvent,
  type Inbox,
  type Ownership,
  type ReadRange,
  type SessionEntry,
  type Snapshot,
  readableEvents,
  parseSessionId,
  rejected,
  jsonSchema,
  type JsonValue,
} from "../../events/index.ts";
import { AppendLines } from "./append-lines.ts";
import type { EncryptedLog, EncryptedLogOptions, Erasure, LogInFolder } from "./encrypted-log.ts";
import { EncryptedInbox, rereading } from "./encrypted-inbox.ts";
import { keyMissing, assertKeysOutside, unsavedKeys, type KeyStore } from "./key-store.ts";
import { PendingForks, SessionErasing } from "./session-erasing.ts";
import { KeyRing } from "./key-ring.ts";
import {
  mapped,
  EventDecrypter,
  type DecryptOptions,
  type WithoutKey,
} from "./decrypted-events.ts";
import { EventEncryption, decryptedContent, encryptedContent } from "./encrypted-event.ts";
import { z } from "zod";

export function asEncrypted(log: EventLog): EncryptedLog | undefined {
  return log instanceof EncryptingLog ? log : undefined;
}

const schema = optionsOf<EncryptedLogOptions>({ withoutKey: oneOf("refuse", "redact") }, {});

/**
 * Encrypts the content of a log's sessions. @example await using log = encryptedLog(below, folderKeys("../keys"));
 * @param log - Closed together with the result. Nothing else may write to it while the result is open.
 * @param keys - Without keys, encrypted sessions cannot be written, and are read by `withoutKey`.
 * @returns The log; `stored` is the one below, with events as they are stored.
 * @throws TurnlogError `INVALID_INPUT` for keys inside the log's store
 */
export function encryptedLog(
  log: LogInFolder,
  keys: KeyStore | undefined,
  options: EncryptedLogOptions = {},
): EventLog & { readonly stored: EventLog } {
  return encryptingLog(log, keys, options);
}

/** As {@link encryptedLog}, with what the runtime and the command line need of it. */
export function encryptingLog(
  log: LogInFolder,
  keys: KeyStore | undefined,
  options: EncryptedLogOptions = {},
): EncryptedLog {
  check(schema, options, "encryptedLog", { name: "options" });
  const { withoutKey = "refuse" } = options;
  if (keys !== undefined) assertKeysOutside(keys, log.dir);
  // On a read-only store, unfinished erasures are finished in memory.
  const used = keys !== undefined && log.readOnly === true ? unsavedKeys(keys) : keys;
  return new EncryptingLog(withPlainEvents(log), used, withoutKey);
}

class EncryptingLog implements EncryptedLog {
  readonly [plainEvents] = true;
  readonly stored: EventLog;
  readonly blobs: BlobStore | undefined;
  readonly cursors: CursorStore | undefined;
  readonly ownership: Ownership | undefined;
  readonly inbox: Inbox | undefined;
  readonly #ring: KeyRing | undefined;
  readonly #reading: DecryptOptions;
  readonly #encryption = new EventEncryption();
  /** Undefined without keys. */
  readonly #lines: AppendLines | undefined;
  readonly #erasing: SessionErasing | undefined;
  readonly #forks = new PendingForks();
  readonly onChange?: NonNullable<EventLog["onChange"]>;
  readonly loadSnapshots?: NonNullable<EventLog["loadSnapshots"]>;
  #closed: Promise<void> | undefined;

  constructor(log: LogInFolder, keys: KeyStore | undefined, withoutKey: WithoutKey) {
    this.stored = log;
    this.blobs = log.blobs;
    this.cursors = log.cursors;
    const onChange = log.onChange?.bind(log);
    if (onChange !== undefined) this.onChange = onChange;
    const load = log.loadSnapshots?.bind(log);
    if (load !== undefined)
      this.loadSnapshots = (...snapshots) => this.#loadSnapshots(load, ...snapshots);
    const ring = (this.#ring = keys && new KeyRing(log, keys));
    this.inbox = ring && log.inbox ? new EncryptedInbox(log.inbox, log, ring) : log.inbox;
    this.ownership = ring && log.ownership ? rereading(log.ownership, ring) : log.ownership;
    this.#reading = { log, ring: this.#ring, withoutKey };
    if (this.#ring === undefined) return;
    const parts = { log, ring: this.#ring, encryption: this.#encryption, forks: this.#forks };
    this.#lines = new AppendLines(log, this.#ring, this.#encryption);
    this.#erasing = new SessionErasing({ ...parts, lines: this.#lines });
  }

  get encrypts(): boolean {
    return this.#ring !== undefined;
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended> {
    try {
      this.#assertOpen();
      return this.#lines === undefined
        ? this.stored.append(session, expected, events, options)
        : this.#lines.append(parseSessionId(session), expected, events, options);
    } catch (error) {
      return rejected(error);
    }
  }

  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options?: AppendOptions,
  ): Promise<Appended> {
    this.#assertOpen();
    return this.#lines === undefined
      ? await appendParts(this.stored, session, parts, options)
      : await this.#lines.appendParts(parseSessionId(session), parts, options);
  }

  async fork(session: string, events: ForkEvents): Promise<Appended> {
    this.#assertOpen();
    const lines = this.#lines;
    const [first] = events;
    // The log refuses anything else than a fork, with its own error.
    const from = first?.type === "session.forked" ? first.data.from : undefined;
    const isFork = from !== undefined && Number.isSafeInteger(from.position);
    if (lines === undefined || !isFork) return await this.stored.fork(session, events);
    parseSessionId(session);
    return await this.#forks.create(from.session, lines, () => lines.fork(session, from, events));
  }

  read(session: string, range: ReadRange = {}): AsyncIterable<SessionEvent> {
    const decrypter = new EventDecrypter(this.#reading);
    return mapped(this.stored.read(session, range), (event) => decrypter.decrypt(session, event));
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    const decrypter = new EventDecrypter(this.#reading);
    const events: SessionEvent[] = [];
    // One by one: the first event of a range finds the key for all of them.
    for (const event of await this.stored.readAt(session, positions))
      events.push(await decrypter.decrypt(session, event));
    return events;
  }

  subscribe(session: string, options: FollowOptions = {}): AsyncIterableIterator<SessionEvent> {
    const decrypter = new EventDecrypter(this.#reading);
    const events = this.stored.subscribe(session, options);
    return mapped(events, (event) => decrypter.decrypt(session, event));
  }

  readAll(options: { readonly from?: number } = {}): AsyncIterable<GlobalEvent> {
    return mapped(this.stored.readAll(options), this.#decryptGlobal());
  }

  subscribeAll(options: FollowOptions = {}): AsyncIterableIterator<GlobalEvent> {
    return mapped(this.stored.subscribeAll(options), this.#decryptGlobal());
  }

  revision(session: string): Promise<number> {
    return this.stored.revision(session);
  }

  list(options: { readonly prefix?: string } = {}): AsyncIterable<SessionEntry> {
    return this.stored.list(options);
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    this.#assertOpen();
    const ring = this.#ring;
    // Over all sessions there are sums only, with the names of what they are of.
    if (ring === undefined || session === "")
      return await this.stored.saveSnapshot(session, snapshot);
    parseSessionId(session);
    await ring.forWriting(session);
    const key = await ring.snapshotKey(session, session);
    if (key === undefined) throw keyMissing(session);
    try {
      await this.stored.saveSnapshot(session, encryptedSnapshot(snapshot, session, key));
    } catch (error) {
      if (TurnlogError.isInstance(error) && error.code === "SESSION_DELETED")
        await ring.erase(session);
      throw error;
    }
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    return await this.#decrypted(session, await this.stored.loadSnapshot(session, projection));
  }

  async #loadSnapshots(
    load: NonNullable<EventLog["loadSnapshots"]>,
    sessions: readonly string[],
    projection: string,
  ): Promise<readonly (Snapshot | undefined)[]> {
    const snapshots = await load(sessions, projection);
    const decrypting = sessions.map((session, index) => this.#decrypted(session, snapshots[index]));
    const decrypted = await Promise.allSettled(decrypting);
    // Reading the session throws the error of its key; the others have theirs.
    return decrypted.map((one) => (one.status === "fulfilled" ? one.value : undefined));
  }

  async #decrypted(session: string, snapshot: Snapshot | undefined): Promise<Snapshot | undefined> {
    const by = snapshot && keyNameOf(snapshot);
    if (snapshot === undefined || by === undefined) return snapshot;
    const key = await this.#ring?.snapshotKey(session, by);
    return key && decryptedSnapshot(snapshot, key);
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Deleted> {
    this.#assertOpen();
    if (this.#erasing !== undefined) return await this.#erasing.delete(session, options);
    // Their keys would remain, and their forks could not read the copies.
    await this.#assertPlain(session);
    return await this.stored.delete(session, options);
  }

  deleted(): AsyncIterable<DeletedSession> {
    return this.stored.deleted();
  }

  async erase(session: string, erasure: Erasure, time: number): Promise<Appended> {
    this.#assertOpen();
    if (this.#erasing === undefined) throw keyMissing(session);
    return await this.#erasing.erase(session, erasure, time);
  }

  async settled(): Promise<void> {
    await this.#ring?.settled();
  }

  async assertDecryptable(session: string, events: readonly SessionEvent[]): Promise<void> {
    const decrypter = new EventDecrypter({ ...this.#reading, withoutKey: "redact" });
    for (const event of events) await decrypter.decrypt(session, event);
  }

  async encryptor(session: string): Promise<(event: SessionEvent) => void> {
    const ring = this.#ring;
    if (ring === undefined) return () => {};
    const key = await ring.forWriting(parseSessionId(session));
    return (event) => this.#encryption.ahead(key, event);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await this.#lines?.settled();
    await this.stored.close();
  }

  #decryptGlobal(): (global: GlobalEvent) => Promise<GlobalEvent | undefined> {
    const decrypter = new EventDecrypter(this.#reading);
    return (global) => decrypter.decryptGlobal(global);
  }

  async #assertPlain(session: string): Promise<void> {
    const decrypter = new EventDecrypter({ ...this.#reading, withoutKey: "refuse" });
    // An unreadable event is no encrypted one, and is deleted as well.
    const events = readableEvents(this.stored, session, {}, () => {});
    for await (const event of events) await decrypter.decrypt(session, event);
  }

  #assertOpen(): void {
    if (this.#closed === undefined) return;
    throw new TurnlogError("LOG_CLOSED", "The log was closed. Open it again to continue.");
  }
}

// Encrypts snapshots, which contain the session's content. Each has its own key and is lost with it. Pure.

const encryptedSchema = z.strictObject({ "turnlog.sealed": z.string(), by: z.string() });

/** @param by - The session under whose name it is saved. */
function encryptedSnapshot(snapshot: Snapshot, by: string, key: Buffer): Snapshot {
  const content = Buffer.from(JSON.stringify(snapshot.state));
  const encrypted = encryptedContent(key, kindOf(snapshot), content);
  return { ...snapshot, state: { "turnlog.sealed": encrypted, by } };
}

/** The session whose key it needs; undefined if it is not encrypted. */
function keyNameOf({ state }: Snapshot): string | undefined {
  return encryptedSchema.safeParse(state).data?.by;
}

/** The snapshot as it was saved; undefined if its key is gone. */
function decryptedSnapshot(snapshot: Snapshot, key: Buffer): Snapshot | undefined {
  const encrypted = encryptedSchema.parse(snapshot.state)["turnlog.sealed"];
  const content = decryptedContent(key, kindOf(snapshot), encrypted);
  if (content === undefined) return undefined;
  const state: JsonValue = jsonSchema.parse(JSON.parse(content.toString()));
  return { ...snapshot, state };
}

function kindOf({ projection, version, position }: Snapshot): string {
  return `snapshot ${projection} ${version} ${position}`;
}
