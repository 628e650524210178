/** The interface of an encrypting log: the `EventLog` port, plus erasure. */

import type {
  BlobStore,
  SessionEvent,
  Appended,
  EventLog,
  SessionFamily,
} from "../../events/index.ts";
import type { WithoutKey } from "./decrypted-events.ts";

export interface EncryptedLogOptions {
  /** Without an event's key: `refuse` (default) fails with `KEY_MISSING`, `redact` reads it as redacted. */
  readonly withoutKey?: WithoutKey;
}

/** What to erase, as in the data of `session.redacted`. */
export type Erasure = SessionFamily["session.redacted"];

/**
 * An event log that encrypts content, and can permanently erase the content of single events.
 */
export interface EncryptedLog extends EventLog {
  /** The log below, with events as they are stored. */
  readonly stored: EventLog;
  /** Whether it has keys: then appended events are encrypted. */
  readonly encrypts: boolean;
  readonly blobs: BlobStore | undefined;
  /**
   * Appends `session.redacted` durably and then erases the keys: once this resolves nobody can read
   * the content, in the session or its forks, in the log or a copy of it. If the process dies in
   * between, the next use of the session's key finishes the erasure. `session.redact` finds out
   * what belongs together, and calls this.
   * @param time - Epoch milliseconds.
   * @throws TurnlogError `KEY_MISSING`, and as `append`
   */
  erase(session: string, erasure: Erasure, time: number): Promise<Appended>;
  /** Finishes erasures of earlier processes before anything is read. The first use of a key does it too. */
  settled(): Promise<void>;
  /**
   * Checks that encrypted events from outside can be read as a session of this name. Cannot tell
   * without a key.
   * @throws TurnlogError `KEY_WRONG`
   */
  assertDecryptable(session: string, events: readonly SessionEvent[]): Promise<void>;
  /** Encrypts events before they are appended at their positions, so that their stored form has a digest. */
  encryptor(session: string): Promise<(event: SessionEvent) => void>;
}

/** A log that may be in a folder. */
export type LogInFolder = EventLog & {
  /** The folder of its store, if it has one. */
  readonly dir?: string | undefined;
  /** Whether it is open for reading only: then keys do not change either. */
  readonly readOnly?: boolean;
};
