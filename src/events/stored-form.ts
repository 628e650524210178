/**
 * What an event was stored as. An event that was upcast when it was read remembers it, so that it is
 * written again as it was: what was hashed or exported before an upgrade is the same after it.
 */

import { eventVersions, type NewEvent } from "./catalogue.ts";
import type { JsonValue } from "./json.ts";

export interface StoredForm {
  readonly type: string;
  readonly version: number;
  readonly data: JsonValue | NewEvent["data"];
}

/** Of events that were upcast, and of no others: they are few. */
const older = new WeakMap<NewEvent, StoredForm>();

/** Notes of an event that it was upcast, and from what. Called by the codec alone. */
export function remember(event: NewEvent, form: StoredForm): void {
  older.set(event, form);
}

/** Type, version and data of an event as a log keeps them. */
export function storedForm(event: NewEvent): StoredForm {
  if (event.type === "unknown") return event.data;
  const { type, data } = event;
  return older.get(event) ?? { type, version: eventVersions[type] ?? 1, data };
}

/** Of events that are read in another form than they lie in the log: their content is encrypted there. */
const sealed = new WeakMap<NewEvent, StoredForm>();

/** Notes of an event in what form the log has it. Called by the encryption alone. */
export function rememberEncrypted(event: NewEvent, form: StoredForm): void {
  sealed.set(event, form);
}

/** Type, version and data of an event as they lie in its log: what a hash chain is made over. */
export function loggedForm(event: NewEvent): StoredForm {
  return sealed.get(event) ?? storedForm(event);
}

/** Whether an event lies in its log in another form than it is read in. */
export function isEncryptedInLog(event: NewEvent): boolean {
  return sealed.has(event);
}
