/** Encrypts snapshots, which contain what the session said. Each has its own key and is lost with it. Pure. */

import { z } from "zod";
import { type Snapshot, jsonSchema, type JsonValue } from "../../events/index.ts";
import { decryptedContent, encryptedContent } from "./encrypted-content.ts";

const encryptedSchema = z.strictObject({ "turnlog.sealed": z.string(), by: z.string() });

/** @param by - The session under whose name it is saved. */
export function encryptedSnapshot(snapshot: Snapshot, by: string, key: Buffer): Snapshot {
  const content = Buffer.from(JSON.stringify(snapshot.state));
  const encrypted = encryptedContent(key, kindOf(snapshot), content);
  return { ...snapshot, state: { "turnlog.sealed": encrypted, by } };
}

/** The session whose key it needs; undefined if it is not encrypted. */
export function keyNameOf({ state }: Snapshot): string | undefined {
  return encryptedSchema.safeParse(state).data?.by;
}

/** The snapshot as it was saved; undefined if its key is gone. */
export function decryptedSnapshot(snapshot: Snapshot, key: Buffer): Snapshot | undefined {
  const encrypted = encryptedSchema.parse(snapshot.state)["turnlog.sealed"];
  const content = decryptedContent(key, kindOf(snapshot), encrypted);
  if (content === undefined) return undefined;
  const state: JsonValue = jsonSchema.parse(JSON.parse(content.toString()));
  return { ...snapshot, state };
}

function kindOf({ projection, version, position }: Snapshot): string {
  return `snapshot ${projection} ${version} ${position}`;
}
