/** Seals events, each once, also where a hash chain is made over it before it is appended. */

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
  /** Of events that were sealed before they are appended. */
  readonly #made = new WeakMap<NewEvent, EncryptedForm>();

  /** The form in which an event is stored at a position. */
  formOf(key: SessionKey, position: number, event: NewEvent): StoredForm {
    const made = this.#made.get(event);
    if (made?.session === key.session && made.position === position) return made.form;
    return encryptedForm(event, () => key.sealingKey(position));
  }

  /** Seals an event that is about to be appended at its position, so that its digest can be made. */
  ahead(key: SessionKey, event: SessionEvent): void {
    const { session } = key;
    const form = this.formOf(key, event.position, event);
    this.#made.set(event, { session, position: event.position, form });
    rememberEncrypted(event, form);
  }
}
