/**
 * An event whose content is encrypted, as a legal event of its type: structure stays as it is, and
 * of the content there is a text that only its key opens. What is sealed says so itself, so that a
 * log may hold both kinds, in one session too. Pure.
 */

import {
  eventVersions,
  type NewEvent,
  type SessionEvent,
  jsonObjectSchema,
  jsonSchema,
  type JsonObject,
  type JsonValue,
  rememberEncrypted,
  storedForm,
  type StoredForm,
  REDACTED_FIELD,
} from "../../events/index.ts";
import { ruleOf } from "./content-fields.ts";
import { openedContent, encryptedContent } from "./encrypted-content.ts";

/** The field that holds the content of a sealed event. */
const SEALED = "turnlog.sealed";
/** Says of a delta that its text is sealed: it must have no third field, to share a row with others. */
const SEALED_BLOCK = "turnlog.sealed/";

/** Of a text that no UTF-8 can hold, as half of a pair of surrogates; UTF-8 never begins so. */
const RAW = 0xff;

/** Whether the content of an event is encrypted here. */
export function isEncrypted({ type, data }: NewEvent): boolean {
  const id = type.endsWith("-delta") && "id" in data ? data.id : undefined;
  if (typeof id === "string" && id.startsWith(SEALED_BLOCK)) return true;
  const said: unknown = type === "unknown" ? data.data : data;
  return typeof said === "object" && said !== null && SEALED in said;
}

/** Whether an event says anything that can be redacted. */
export function hasContent({ type, data }: NewEvent): boolean {
  return Object.keys(data).some((field) => ruleOf(type, field) !== "clear");
}

/** Type, version and data to be stored of an event. */
export function encryptedForm(event: NewEvent, key: () => Buffer): StoredForm {
  if (event.type === "unknown") {
    const { type, version, data } = event.data;
    const sealed = encryptedContent(key(), type, Buffer.from(JSON.stringify(data)));
    return { type, version, data: { [SEALED]: sealed } };
  }
  const { type } = event;
  const version = eventVersions[type] ?? 1;
  const data = jsonObjectSchema.parse(event.data);
  const delta = plainDelta(type, data);
  if (delta !== undefined) {
    const sealed = encryptedContent(key(), type, bytesOf(delta.text));
    return { type, version, data: { id: SEALED_BLOCK + delta.id, [delta.field]: sealed } };
  }
  const stored: [string, JsonValue][] = [];
  /** Every field in its order; content in brackets. */
  const content: [string, JsonValue][] = [];
  let hasContent = false;
  for (const [field, value] of Object.entries(data)) {
    if (value === undefined) continue;
    const rule = ruleOf(type, field);
    content.push([field, rule === "clear" ? 0 : [value]]);
    if (rule === "clear") stored.push([field, value]);
    else hasContent = true;
    if (typeof rule === "function") stored.push([field, rule(value)]);
  }
  if (!hasContent) return storedForm(event);
  const said = JSON.stringify(Object.fromEntries(content));
  const sealed = encryptedContent(key(), type, Buffer.from(said));
  return { type, version, data: Object.fromEntries([...stored, [SEALED, sealed]]) };
}

/** The event that a log is given in the place of another one. */
export function inForm(event: NewEvent, { type, version, data }: StoredForm): NewEvent {
  const said = event.type === "unknown" ? { type, version, data } : data;
  // The fields that make it one of its type are there: structure as it was, content by the table.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...event, data: said } as NewEvent;
}

/**
 * What a sealed event says, or that it was redacted where its key is gone; undefined where the key is
 * not the one that it was sealed with.
 */
export function openedEvent(
  event: SessionEvent,
  key: Buffer | undefined,
): SessionEvent | undefined {
  const data = key === undefined ? redactedData(event) : openedData(event, key);
  if (data === undefined) return undefined;
  const said = event.type === "unknown" ? { ...event.data, data } : data;
  // It was an event of this type when it was sealed; or it is one by the table.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const opened = { ...event, data: said } as SessionEvent;
  rememberEncrypted(opened, storedForm(event));
  return opened;
}

function openedData(event: SessionEvent, key: Buffer): JsonValue | undefined {
  const { type, data } = storedForm(event);
  const fields = jsonObjectSchema.parse(data);
  const delta = encryptedDelta(type, fields);
  if (delta !== undefined) {
    const content = openedContent(key, type, delta.text);
    return content && { id: delta.id, [delta.field]: textOf(content) };
  }
  const sealed = fields[SEALED];
  const content = typeof sealed === "string" ? openedContent(key, type, sealed) : undefined;
  if (content === undefined) return undefined;
  const said = jsonSchema.parse(JSON.parse(content.toString()));
  if (event.type === "unknown") return said;
  return Object.fromEntries(
    Object.entries(jsonObjectSchema.parse(said)).map(([field, value]) => [
      field,
      Array.isArray(value) ? value[0] : fields[field],
    ]),
  );
}

function redactedData(event: SessionEvent): JsonValue {
  const { type, data } = storedForm(event);
  const fields = jsonObjectSchema.parse(data);
  const delta = encryptedDelta(type, fields);
  // Its block says once that it was redacted, however many deltas it came in.
  if (delta !== undefined) return { id: delta.id, [delta.field]: "", [REDACTED_FIELD]: true };
  const { [SEALED]: _, ...rest } = fields;
  return { ...rest, [REDACTED_FIELD]: true };
}

interface DeltaText {
  readonly id: string;
  readonly field: "text" | "delta";
  readonly text: string;
}

/** A delta that says nothing but its block and its text. */
function plainDelta(type: string, data: JsonObject): DeltaText | undefined {
  if (!type.endsWith("-delta") || Object.keys(data).length !== 2) return undefined;
  const field = type === "part.tool-input-delta" ? "delta" : "text";
  const { id, [field]: text } = data;
  return typeof id === "string" && typeof text === "string" ? { id, field, text } : undefined;
}

function encryptedDelta(type: string, data: JsonObject): DeltaText | undefined {
  const delta = plainDelta(type, data);
  if (delta === undefined || !delta.id.startsWith(SEALED_BLOCK)) return undefined;
  return { ...delta, id: delta.id.slice(SEALED_BLOCK.length) };
}

function bytesOf(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  return Buffer.concat([Buffer.of(RAW), Buffer.from(text, "utf16le")]);
}

function textOf(bytes: Buffer): string {
  return bytes[0] === RAW ? bytes.subarray(1).toString("utf16le") : bytes.toString();
}
