/** Encrypts each event once, also if a hash chain needs its stored form before the append. */

import {
  type NewEvent,
  type SessionEvent,
  rememberEncrypted,
  type StoredForm,
} from "../../events/index.ts";
import { encryptedForm } from "./encrypted-event.ts";
import type { SessionKey } from "./session-key.ts";

interface EncryptedForm {
  readonly session: string;
  readonly position: number;
  readonly form: StoredForm;
}

export class EventEncryption {
  /** Events that were encrypted before their append. */
  readonly #made = new WeakMap<NewEvent, EncryptedForm>();

  /** The stored form of an event at a position. */
  formOf(key: SessionKey, position: number, event: NewEvent): StoredForm {
    const made = this.#made.get(event);
    if (made?.session === key.session && made.position === position) return made.form;
    return encryptedForm(event, () => key.encryptionKey(position));
  }

  /** Encrypts an event before its append at its position, so that its digest can be computed. */
  ahead(key: SessionKey, event: SessionEvent): void {
    const { session } = key;
    const form = this.formOf(key, event.position, event);
    this.#made.set(event, { session, position: event.position, form });
    rememberEncrypted(event, form);
  }
}
