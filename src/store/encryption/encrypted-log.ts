/** What a log that encrypts can do beside the port. */

import type {
  BlobStore,
  SessionEvent,
  Appended,
  EventLog,
  SessionFamily,
} from "../../events/index.ts";
import type { WithoutKey } from "./decrypted-events.ts";

/** How an encrypted log reads what it has no key for. */
export interface EncryptedLogOptions {
  /**
   * What is read of a sealed event whose key is not at hand: `refuse` (default) fails with
   * `KEY_MISSING`, `redact` reads it as if it had been redacted.
   */
  readonly withoutKey?: WithoutKey;
}

/** What is to be erased, as `session.redacted` says it. */
export type Erasure = SessionFamily["session.redacted"];

/** An event log that encrypts, and can erase the content of single events for good. */
export interface EncryptedLog extends EventLog {
  /** The log below, with events as they are stored. */
  readonly stored: EventLog;
  /** Whether it has keys: what is appended is encrypted. */
  readonly encrypts: boolean;
  /** What lies beside the log below, in plain text: media of sessions that are not encrypted. */
  readonly blobs: BlobStore | undefined;
  /**
   * Has it said that content is redacted (`session.redacted`), durably, and then erases its keys: once
   * this resolves nobody can read it any more, in the session or its forks, from the log or a copy of it. A
   * process that dies in between has it finished by the next that uses the session's key.
   * `redactSession` finds out what belongs together, and calls this.
   * @param at - Epoch milliseconds.
   * @throws TurnlogError `KEY_MISSING`, and as `append`
   */
  erase(session: string, erasure: Erasure, at: number): Promise<Appended>;
  /** Finishes erasures that earlier processes had begun, before anything is read. The first use of a key does it too. */
  settled(): Promise<void>;
  /**
   * Looks whether sealed events that are not in the log yet can be read as a session of this name. Where
   * there is no key at hand, that cannot be told.
   * @throws TurnlogError `KEY_WRONG`
   */
  assertOpens(session: string, events: readonly SessionEvent[]): Promise<void>;
  /** Seals events that are about to be appended, each at its position, so that a digest of what is stored can be made. */
  sealer(session: string): Promise<(event: SessionEvent) => void>;
}

/** A log that may have blobs beside it. */
export type LogWithBlobs = EventLog & {
  readonly blobs?: BlobStore | undefined;
  /** The folder of its store, where it has one. */
  readonly dir?: string | undefined;
  /** Whether it was opened to be read: then keys are not changed either. */
  readonly readOnly?: boolean;
};
