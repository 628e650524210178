/**
 * The stored form of an event that was upcast or is encrypted in the log. WeakMaps keep it, not a field:
 * `{ ...event, data }` must not carry the old bytes into an export.
 */

import { eventVersions, type NewEvent } from "../catalogue/catalogue.ts";
import type { JsonValue } from "../values/json.ts";
import { REPEATS_VERSION, withoutRepeats } from "./repeated-text.ts";

export interface StoredForm {
  readonly type: string;
  readonly version: number;
  readonly data: JsonValue | NewEvent["data"];
}

/** Of events that were read, where they would be written in another form. */
const upcastForms = new WeakMap<NewEvent, StoredForm>();

/** Called by the codec only. */
export function rememberUpcast(event: NewEvent, form: StoredForm): void {
  upcastForms.set(event, form);
}

/**
 * Type, version and data as written or exported: an upcast event keeps its old form, and the result
 * of a tool has each long text once.
 */
export function storedForm(event: NewEvent): StoredForm {
  if (event.type === "unknown") return event.data;
  const known = upcastForms.get(event);
  if (known !== undefined) return known;
  const { type, data } = event;
  const short = event.type === "tool.succeeded" ? withoutRepeats(event.data) : undefined;
  if (short !== undefined) return { type, version: REPEATS_VERSION, data: short };
  return { type, version: eventVersions[type] ?? 1, data };
}

const encryptedForms = new WeakMap<NewEvent, StoredForm>();

/** Called by the encryption only. */
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
