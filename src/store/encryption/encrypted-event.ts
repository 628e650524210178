/**
 * Encrypts an event's content into a legal event of its type: the structure stays, a text replaces the content.
 * The mark lets a session contain both kinds. Pure.
 */

import {
  type NewEvent,
  type SessionEvent,
  rememberEncrypted,
  type StoredForm,
  eventVersions,
  jsonObjectSchema,
  jsonSchema,
  type JsonObject,
  type JsonValue,
  storedForm,
  REDACTED_FIELD,
} from "../../events/index.ts";
import type { SessionKey } from "./session-key.ts";
import { ruleOf } from "./content-fields.ts";
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
} from "node:crypto";

/** The stored field with the content of an encrypted event. */
const ENCRYPTED = "turnlog.sealed";
/** Marks an encrypted delta in its block id: a third field would keep it out of a run. */
const ENCRYPTED_BLOCK = "turnlog.sealed/";

/** Begins a text that is no valid UTF-8, as with half a surrogate pair; UTF-8 never begins so. */
const RAW = 0xff;

export function isEncrypted({ type, data }: NewEvent): boolean {
  const id = type.endsWith("-delta") && "id" in data ? data.id : undefined;
  if (typeof id === "string" && id.startsWith(ENCRYPTED_BLOCK)) return true;
  const content: unknown = type === "unknown" ? data.data : data;
  return typeof content === "object" && content !== null && ENCRYPTED in content;
}

/** Whether an event has content that can be redacted. */
export function hasContent({ type, data }: NewEvent): boolean {
  return Object.keys(data).some((field) => ruleOf(type, field) !== "clear");
}

export function encryptedForm(event: NewEvent, key: () => Buffer): StoredForm {
  if (event.type === "unknown") {
    const { type, version, data } = event.data;
    const encrypted = encryptedContent(key(), type, Buffer.from(JSON.stringify(data)));
    return { type, version, data: { [ENCRYPTED]: encrypted } };
  }
  const { type } = event;
  const version = eventVersions[type] ?? 1;
  const data = jsonObjectSchema.parse(event.data);
  const delta = plainDelta(type, data);
  if (delta !== undefined) {
    const encrypted = encryptedContent(key(), type, bytesOf(delta.text));
    return { type, version, data: { id: ENCRYPTED_BLOCK + delta.id, [delta.field]: encrypted } };
  }
  const stored: [string, JsonValue][] = [];
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
  const text = JSON.stringify(Object.fromEntries(content));
  const encrypted = encryptedContent(key(), type, Buffer.from(text));
  return { type, version, data: Object.fromEntries([...stored, [ENCRYPTED, encrypted]]) };
}

export function withForm(event: NewEvent, { type, version, data }: StoredForm): NewEvent {
  const stored = event.type === "unknown" ? { type, version, data } : data;
  // All required fields are there: structure unchanged, content by the table.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...event, data: stored } as NewEvent;
}

/** Decrypts an event, or redacts it if its key is gone; undefined if the key is wrong. */
export function decryptedEvent(
  event: SessionEvent,
  key: Buffer | undefined,
): SessionEvent | undefined {
  const data = key === undefined ? redactedData(event) : decryptedData(event, key);
  if (data === undefined) return undefined;
  const read = event.type === "unknown" ? { ...event.data, data } : data;
  // It was an event of this type before encryption, or is one by the table.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const decrypted = { ...event, data: read } as SessionEvent;
  rememberEncrypted(decrypted, storedForm(event));
  return decrypted;
}

function decryptedData(event: SessionEvent, key: Buffer): JsonValue | undefined {
  const { type, data } = storedForm(event);
  const fields = jsonObjectSchema.parse(data);
  const delta = encryptedDelta(type, fields);
  if (delta !== undefined) {
    const content = decryptedContent(key, type, delta.text);
    return content && { id: delta.id, [delta.field]: textOf(content) };
  }
  const encrypted = fields[ENCRYPTED];
  const content =
    typeof encrypted === "string" ? decryptedContent(key, type, encrypted) : undefined;
  if (content === undefined) return undefined;
  const value = jsonSchema.parse(JSON.parse(content.toString()));
  if (event.type === "unknown") return value;
  return Object.fromEntries(
    Object.entries(jsonObjectSchema.parse(value)).map(([field, content]) => [
      field,
      Array.isArray(content) ? content[0] : fields[field],
    ]),
  );
}

function redactedData(event: SessionEvent): JsonValue {
  const { type, data } = storedForm(event);
  const fields = jsonObjectSchema.parse(data);
  const delta = encryptedDelta(type, fields);
  // The block is marked as redacted once, not each of its deltas.
  if (delta !== undefined) return { id: delta.id, [delta.field]: "", [REDACTED_FIELD]: true };
  const { [ENCRYPTED]: _, ...rest } = fields;
  return { ...rest, [REDACTED_FIELD]: true };
}

interface DeltaText {
  readonly id: string;
  readonly field: "text" | "delta";
  readonly text: string;
}

function plainDelta(type: string, data: JsonObject): DeltaText | undefined {
  if (!type.endsWith("-delta") || Object.keys(data).length !== 2) return undefined;
  const field = type === "part.tool-input-delta" ? "delta" : "text";
  const { id, [field]: text } = data;
  return typeof id === "string" && typeof text === "string" ? { id, field, text } : undefined;
}

function encryptedDelta(type: string, data: JsonObject): DeltaText | undefined {
  const delta = plainDelta(type, data);
  if (delta === undefined || !delta.id.startsWith(ENCRYPTED_BLOCK)) return undefined;
  return { ...delta, id: delta.id.slice(ENCRYPTED_BLOCK.length) };
}

function bytesOf(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  return Buffer.concat([Buffer.of(RAW), Buffer.from(text, "utf16le")]);
}

function textOf(bytes: Buffer): string {
  return bytes[0] === RAW ? bytes.subarray(1).toString("utf16le") : bytes.toString();
}

interface EncryptedForm {
  readonly session: string;
  readonly position: number;
  readonly form: StoredForm;
}

export class EventEncryption {
  /** Events that were encrypted before their append. */
  readonly #made = new WeakMap<NewEvent, EncryptedForm>();

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

// Deterministic encryption: a synthetic initialisation vector over kind and content (HMAC-SHA-256, cut to 64
// bits), then AES-256 in counter mode (Rogaway and Shrimpton, "Deterministic authenticated-encryption",
// EUROCRYPT 2006). A key that is used again, as after restoring a backup, only reveals that two contents are
// equal. A wrong key and a changed text are detected. Pure.

const VECTOR_BYTES = 8;

/** @param key - 32 bytes for one event or one snapshot. */
export function encryptedContent(key: Buffer, kind: string, content: Buffer): string {
  const { cipher, mac } = keysOf(key);
  const vector = vectorOf(mac, kind, content);
  const stream = createCipheriv("aes-256-ctr", cipher, blockOf(vector));
  return Buffer.concat([vector, stream.update(content)]).toString("base64url");
}

/** The content; undefined if the key is wrong or the text was changed. */
export function decryptedContent(key: Buffer, kind: string, encrypted: string): Buffer | undefined {
  const bytes = Buffer.from(encrypted, "base64url");
  if (bytes.length < VECTOR_BYTES) return undefined;
  const { cipher, mac } = keysOf(key);
  const vector = bytes.subarray(0, VECTOR_BYTES);
  const stream = createDecipheriv("aes-256-ctr", cipher, blockOf(vector));
  const content = stream.update(bytes.subarray(VECTOR_BYTES));
  return vectorOf(mac, kind, content).equals(vector) ? content : undefined;
}

const keysLabel = Buffer.from("turnlog content");

/** Key objects: Node takes four times as long for a cipher or an HMAC with a key of bytes. */
function keysOf(key: Buffer): { readonly cipher: KeyObject; readonly mac: KeyObject } {
  const both = hash("sha512", Buffer.concat([key, keysLabel]), "buffer");
  return {
    cipher: createSecretKey(both.subarray(0, 32)),
    mac: createSecretKey(both.subarray(32)),
  };
}

function blockOf(vector: Buffer): Buffer {
  const block = Buffer.alloc(16);
  vector.copy(block);
  return block;
}

function vectorOf(mac: KeyObject, kind: string, content: Buffer): Buffer {
  const digest = createHmac("sha256", mac).update(`${kind}\n`).update(content).digest();
  return digest.subarray(0, VECTOR_BYTES);
}
