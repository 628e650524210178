/** Deletes sessions and redacts events together with their keys: what a key had encrypted cannot be read again. */

import {
  type Appended,
  type Deleted,
  type DeleteOptions,
  type EventLog,
  parseSessionId,
} from "../../events/index.ts";
import type { AppendLines } from "./append-lines.ts";
import type { Erasure } from "./encrypted-log.ts";
import { type EventEncryption, withForm } from "./encrypted-event.ts";
import { keyMissing } from "./key-store.ts";
import type { KeyRing } from "./key-ring.ts";
import type { PendingForks } from "./pending-forks.ts";
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
