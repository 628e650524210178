/** Deletes sessions and redacts events together with their keys: what a key had encrypted cannot be read again. */

import {
  type Appended,
  type Deleted,
  type DeleteOptions,
  type EventLog,
  parseSessionId,
} from "../../events/index.ts";
import type { AppendLines } from "./append-lines.ts";
import { type EventEncryption, withForm } from "./encrypted-event.ts";
import type { Erasure } from "./encrypted-log.ts";
import type { KeyRing } from "./key-ring.ts";
import { keyMissing } from "./key-store.ts";
import type { SessionKey } from "./session-key.ts";

export interface SessionErasingOptions {
  /** The log below, of encrypted events. */
  readonly log: EventLog;
  readonly ring: KeyRing;
  readonly encryption: EventEncryption;
  readonly lines: AppendLines;
  readonly forks: PendingForks;
}

export class SessionErasing {
  readonly #options: SessionErasingOptions;

  constructor(options: SessionErasingOptions) {
    this.#options = options;
  }

  async delete(session: string, options: DeleteOptions): Promise<Deleted> {
    const { log, ring, lines, forks } = this.#options;
    parseSessionId(session);
    return await lines.alone(session, () =>
      forks.deleteParent(session, async () => {
        try {
          return await ring.erasing(session, async () => {
            if (options.forks === "copy") await ring.bequeath(session);
            const deleted = await log.delete(session, options);
            await ring.erase(session);
            return deleted;
          });
        } finally {
          ring.unlink();
          lines.forget(session);
        }
      }),
    );
  }

  /** Appends the event that names the erased ranges, and removes the keys of their positions. */
  async erase(session: string, erasure: Erasure, time: number): Promise<Appended> {
    const { ring, lines } = this.#options;
    return await lines.alone(session, async (revision) => {
      const key = await ring.of(session);
      if (key === undefined) throw keyMissing(session);
      return await ring.erasing(session, () => this.#erase(key, revision, erasure, time));
    });
  }

  async #erase(
    key: SessionKey,
    revision: number,
    erasure: Erasure,
    time: number,
  ): Promise<Appended> {
    const { log, ring, lines, encryption } = this.#options;
    const { session } = key;
    key.noteErasing({ position: revision + 1, ranges: erasure.ranges });
    await ring.save(key);
    const event = { type: "session.redacted", time, data: erasure } as const;
    const encrypted = withForm(event, encryption.formOf(key, revision + 1, event));
    let appended: Appended;
    try {
      appended = await log.append(session, revision, [encrypted], { origin: "recorded" });
    } finally {
      lines.forget(session);
    }
    // A reader who sees the event must not read what it names, though the key is not saved yet.
    key.beginErasing();
    await ring.eraseNoted(key);
    return appended;
  }
}

// Separates forks from the deletion of their parent: a deletion gives its forks the keys of shared events, so no fork
// may begin during it. Neither blocks the appends of the other.

export class PendingForks {
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #making = new Map<string, Set<Promise<unknown>>>();

  /** Creates a fork, after the parent's waiting appends and not during its deletion. */
  async create<Result>(
    from: string,
    lines: AppendLines,
    make: () => Promise<Result>,
  ): Promise<Result> {
    await lines.waitFor(from);
    for (let gone = this.#leaving.get(from); gone !== undefined; gone = this.#leaving.get(from))
      await gone;
    const made = make();
    const settled = made.catch(() => {});
    const others = this.#making.get(from) ?? new Set();
    this.#making.set(from, others.add(settled));
    try {
      return await made;
    } finally {
      others.delete(settled);
      if (others.size === 0) this.#making.delete(from);
    }
  }

  /** Deletes a session, once its forks under way are created. */
  async deleteParent<Result>(session: string, act: () => Promise<Result>): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#leaving.set(session, promise);
    try {
      for (const made of this.#making.get(session) ?? []) await made;
      return await act();
    } finally {
      this.#leaving.delete(session);
      resolve();
    }
  }
}
