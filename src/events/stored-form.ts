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
