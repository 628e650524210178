/** A blob in the file of a session: a line of its own, in front of the event that brings it along. Pure. */

import { z } from "zod";
import { hash } from "node:crypto";
import { digestSchema } from "./blob-reference.ts";
import { TurnlogError } from "./errors.ts";
import { jsonOf } from "./json-line.ts";

const lineSchema = z.strictObject({ blob: digestSchema, data: z.string() });

/** A blob as it stands in the file of a session. */
export interface FileBlob {
  readonly sha256: string;
  readonly content: Uint8Array;
}

/** A blob as a line, without its end. */
export function blobLine({ sha256, content }: FileBlob): string {
  const data = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return JSON.stringify({ blob: sha256, data: data.toString("base64") });
}

/** Told by its beginning: nothing is parsed for it. */
export function isBlobLine(line: string): boolean {
  return line.startsWith('{"blob":');
}

/** @throws TurnlogError `INVALID_INPUT` for what is none, `BLOB_DAMAGED` where the bytes are others */
export function parseBlobLine(line: string): FileBlob {
  const parsed = lineSchema.safeParse(jsonOf(line));
  if (!parsed.success) {
    const what = `A line is not the blob that it begins as: ${z.prettifyError(parsed.error)}`;
    throw new TurnlogError("INVALID_INPUT", what, { cause: parsed.error });
  }
  const { blob: sha256, data } = parsed.data;
  const content = Buffer.from(data, "base64");
  const found = hash("sha256", content);
  if (found === sha256) return { sha256, content };
  throw new TurnlogError(
    "BLOB_DAMAGED",
    `The file has other bytes under the name of blob ${sha256}: their SHA-256 is ${found}. Nothing was imported.`,
    { details: { sha256, found } },
  );
}
