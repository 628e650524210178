/**
 * Copies all sessions of a log into another one, event by event as they are stored. A session's last position in
 * the target shows how far it has been copied, so an interrupted copy can continue.
 */

import {
  defined,
  eventLine,
  TurnlogError,
  type EventLog,
  type HeldBlob,
  type SessionEvent,
} from "../../events/index.ts";
import { linkOf } from "../../state/index.ts";

export interface CopyOptions {
  /** Aborting ends the copy between two events. */
  readonly signal: AbortSignal;
  /** Go on with what is written later, until the signal aborts. */
  readonly follow: boolean;
  /** Called now and then with the number of events copied so far, and of those that remain. */
  readonly onProgress: (copied: number, remaining: number) => void;
  /** Called for each blob that the source has lost. */
  readonly onLost: (error: TurnlogError) => void;
}

export interface CopiedLog {
  /** Sessions that were copied, whole or from where an earlier copy ended. */
  readonly sessions: number;
  readonly events: number;
  readonly blobs: number;
}

/** Events of one append, and appends under way at once. */
const BATCH = 256;
const APPENDS = 32;
const PROGRESS = 1000;

/**
 * Copies all events in their global order until the source is at rest. Sessions that were deleted there are
 * deleted in the target.
 * @throws TurnlogError `REVISION_CONFLICT` if the target has other events in a session of the same name
 */
export async function copyLog(
  from: EventLog,
  to: EventLog,
  options: CopyOptions,
): Promise<CopiedLog> {
  const copying = new Copying(from, to, options);
  await copying.compare();
  while ((await copying.pass()) || (await copying.isFollowed()));
  return copying.copied;
}

class Copying {
  readonly #from: EventLog;
  readonly #to: EventLog;
  readonly #options: CopyOptions;
  /** The last copied or queued position of each session in the target. */
  readonly #reached = new Map<string, number>();
  readonly #sessions = new Set<string>();
  readonly #appends = new Set<Promise<unknown>>();
  #batch: { readonly session: string; readonly events: SessionEvent[] } | undefined;
  #held: HeldBlob[] = [];
  #events = 0;
  #blobs = 0;
  #total = 0;
  /** The last global position that was read. */
  #position = 0;

  constructor(from: EventLog, to: EventLog, options: CopyOptions) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
  }

  get copied(): CopiedLog {
    return { sessions: this.#sessions.size, events: this.#events, blobs: this.#blobs };
  }

  /** Waits for an event after the last one. False if the caller does not want later events. */
  async isFollowed(): Promise<boolean> {
    const { follow, signal, onProgress } = this.#options;
    if (!follow || signal.aborted) return false;
    onProgress(this.#events, 0);
    const from = this.#position + 1;
    for await (const _ of this.#from.subscribeAll({ from, signal })) return true;
    return false;
  }

  async #deletions(): Promise<void> {
    for await (const { session, by, spent } of this.#from.deleted()) {
      const isThere = (await this.#to.revision(session)) > 0;
      if (!isThere && (spent === undefined || !(await this.#named(session)))) continue;
      await this.#to.delete(session, { forks: "copy", ...defined({ by, spent }) });
    }
  }

  /** Creates a session to delete it: what it had spent stays with its name. False if it is deleted already. */
  async #named(session: string): Promise<boolean> {
    try {
      const event = { type: "session.closed", time: 0, data: {} } as const;
      await this.#to.append(session, "none", [event], { origin: "copied" });
      return true;
    } catch (error) {
      if (TurnlogError.isInstance(error) && error.code === "SESSION_DELETED") return false;
      throw error;
    }
  }

  /** Copies what was written since the last pass. @returns whether that was anything */
  async pass(): Promise<boolean> {
    const before = this.#events;
    await this.#deletions();
    try {
      for await (const placed of this.#from.readAll({ from: this.#position + 1 })) {
        if (this.#options.signal.aborted) break;
        const { session, event, position } = placed;
        this.#position = position;
        if (event.position > (this.#reached.get(session) ?? 0)) await this.#take(session, event);
      }
      await this.#written();
    } finally {
      await Promise.allSettled(this.#appends);
      for (const held of this.#held) held[Symbol.dispose]();
    }
    return !this.#options.signal.aborted && this.#events > before;
  }

  /** What the target has already must be the beginning of what the source has. */
  async compare(): Promise<void> {
    const source = new Map<string, number>();
    for await (const { session, revision, forkedFrom } of this.#from.list()) {
      source.set(session, revision);
      this.#total += revision - (forkedFrom?.position ?? 0);
    }
    for await (const { session, revision, forkedFrom } of this.#to.list()) {
      const there = source.get(session);
      if (there === undefined) continue;
      const [one] = await this.#from.readAt(session, [revision]);
      const [other] = await this.#to.readAt(session, [revision]);
      if (one === undefined || other === undefined || eventLine(one) !== eventLine(other))
        throw differs(session, revision);
      this.#reached.set(session, revision);
      this.#total -= revision - (forkedFrom?.position ?? 0);
    }
  }

  async #fill(session: string, from: number, to: number): Promise<void> {
    for await (const event of this.#from.read(session, { from, to }))
      await this.#take(session, event);
  }

  async #take(session: string, event: SessionEvent): Promise<void> {
    if (this.#batch?.session !== session || this.#batch.events.length >= BATCH) await this.#flush();
    if (event.type === "session.forked" && (await this.#isFork(session, event.position))) {
      await this.#fork(session, event);
      return;
    }
    const reached = this.#reached.get(session) ?? 0;
    // A fork of a deleted session has the shared events as its own, and the global order does not have them.
    if (event.position > reached + 1) await this.#fill(session, reached + 1, event.position - 1);
    if (event.type === "blob.stored") await this.#copyBlob(event.data.sha256);
    this.#batch ??= { session, events: [] };
    this.#batch.events.push(event);
    this.#count(session, event.position);
  }

  async #isFork(session: string, position: number): Promise<boolean> {
    return (await linkOf(this.#from, session))?.position === position - 1;
  }

  async #fork(session: string, event: SessionEvent<"session.forked">): Promise<void> {
    await this.#written();
    await this.#to.fork(session, [event]);
    this.#count(session, event.position);
  }

  #count(session: string, position: number): void {
    this.#reached.set(session, position);
    this.#sessions.add(session);
    this.#events += 1;
    const { onProgress } = this.#options;
    if (this.#events % PROGRESS === 0)
      onProgress(this.#events, Math.max(0, this.#total - this.#events));
  }

  async #copyBlob(sha256: string): Promise<void> {
    const [source, target] = [this.#from.blobs, this.#to.blobs];
    if (source === undefined || target === undefined) return;
    try {
      this.#held.push(await target.put(source.get(sha256)));
      this.#blobs += 1;
    } catch (error) {
      const isLost =
        TurnlogError.isInstance(error) &&
        (error.code === "BLOB_MISSING" || error.code === "BLOB_DAMAGED");
      if (!isLost) throw error;
      this.#options.onLost(error);
    }
  }

  /** Appends are in order for each session; the log writes those of several together. */
  async #flush(): Promise<void> {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    const { session, events } = batch;
    const before = (events[0]?.position ?? 1) - 1;
    const held = this.#held.splice(0);
    const append = this.#to
      .append(session, before === 0 ? "none" : before, events, { origin: "copied" })
      .catch((error: unknown) => {
        const isOther = TurnlogError.isInstance(error) && error.code === "REVISION_CONFLICT";
        throw isOther ? differs(session, before, error) : error;
      })
      .finally(() => {
        for (const one of held) one[Symbol.dispose]();
      });
    // `#settled` throws its error.
    append.catch(() => {});
    this.#appends.add(append);
    if (this.#appends.size >= APPENDS) await this.#settled();
  }

  async #written(): Promise<void> {
    await this.#flush();
    await this.#settled();
  }

  async #settled(): Promise<void> {
    const appends = [...this.#appends];
    this.#appends.clear();
    await Promise.all(appends);
  }
}

function differs(session: string, position: number, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "REVISION_CONFLICT",
    `The target has a session ${session} that is not a copy of the source's: their events at ${position} differ. It was not changed. Copy into an empty store, or delete or export that session first.`,
    { session, position, cause },
  );
}
