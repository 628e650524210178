/**
 * The stored form of an event, if it differs from the one that was read: an event that was upcast, or
 * whose content is encrypted in the log. It is kept in WeakMaps beside the event and not in a field: a
 * copy with changed data, `{ ...event, data }`, must not carry the old bytes into an export.
 */

import { eventVersions, type NewEvent } from "./catalogue.ts";
import type { JsonValue } from "./json.ts";

export interface StoredForm {
  readonly type: string;
  readonly version: number;
  readonly data: JsonValue | NewEvent["data"];
}

/** The old form of upcast events. */
const upcastForms = new WeakMap<NewEvent, StoredForm>();

/** Notes the form of an upcast event. Called by the codec only. */
export function rememberUpcast(event: NewEvent, form: StoredForm): void {
  upcastForms.set(event, form);
}

/** Type, version and data in which an event is written or exported: an upcast event keeps its old form. */
export function storedForm(event: NewEvent): StoredForm {
  if (event.type === "unknown") return event.data;
  const { type, data } = event;
  return upcastForms.get(event) ?? { type, version: eventVersions[type] ?? 1, data };
}

/** The logged form of events whose content is encrypted in the log. */
const encryptedForms = new WeakMap<NewEvent, StoredForm>();

/** Notes the logged form of a decrypted event. Called by the encryption only. */
export function rememberEncrypted(event: NewEvent, form: StoredForm): void {
  encryptedForms.set(event, form);
}

/** Type, version and data of an event in its log: the hash chain covers these. */
export function loggedForm(event: NewEvent): StoredForm {
  return encryptedForms.get(event) ?? storedForm(event);
}

export function isEncryptedInLog(event: NewEvent): boolean {
  return encryptedForms.has(event);
}
