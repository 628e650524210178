/**
 * Deterministic encryption: a synthetic initialisation vector over kind and content (HMAC-SHA-256, cut to 64
 * bits), then AES-256 in counter mode (Rogaway and Shrimpton, "Deterministic authenticated-encryption",
 * EUROCRYPT 2006). A key that is used again, as after restoring a backup, only reveals that two contents are
 * equal. A wrong key and a changed text are detected. Pure.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
} from "node:crypto";

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
