/** The checks of options and digests, the errors, and the reading of a source, that blob stores share. */

import { z } from "zod";
import {
  type BlobSource,
  type CollectOptions,
  type PutOptions,
  referredBlob,
  blobReference,
  TurnlogError,
  type TurnlogErrorCode,
} from "../../events/index.ts";
import { amount, code, implementation, optionsOf } from "../../validation/index.ts";

/** @throws TurnlogError `INVALID_INPUT` for an invalid digest, which would become part of a path */
export function assertDigest(sha256: string): void {
  if (referredBlob(blobReference(sha256)) !== undefined) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `${JSON.stringify(sha256)} is not the name of a blob: a blob is named by the 64 hexadecimal digits of its SHA-256, in lower case.`,
  );
}

export function tooLarge(limit: number): TurnlogError {
  return new TurnlogError(
    "BLOB_TOO_LARGE",
    `The content is larger than ${limit} bytes, the limit for one blob, and was not stored. Make it smaller; a program that opens the store may raise \`blobs: { maxBytes }\`.`,
    { details: { limit } },
  );
}

export function missing(sha256: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "BLOB_MISSING",
    `Blob ${sha256} is missing. Put it back from a backup, or store the same content again.`,
    { details: { sha256 }, cause },
  );
}

export function damaged(sha256: string, found: string): TurnlogError {
  return new TurnlogError(
    "BLOB_DAMAGED",
    `Blob ${sha256} is damaged: its bytes have the SHA-256 ${found}. Put it back from a backup, or store the same content again.`,
    { details: { sha256, found } },
  );
}

const codes: Readonly<Record<string, TurnlogErrorCode>> = {
  ENOSPC: "LOG_FULL",
  EDQUOT: "LOG_FULL",
  EFBIG: "LOG_FULL",
  EROFS: "LOG_READ_ONLY",
  EACCES: "LOG_READ_ONLY",
  EPERM: "LOG_READ_ONLY",
};

/** Turns errors of the file system into the port's errors; returns all others unchanged. */
export function folderFailure(error: unknown, dir: string, doing: "stored" | "read"): unknown {
  if (TurnlogError.isInstance(error) || !(error instanceof Error) || !("syscall" in error)) {
    return error;
  }
  const code = "code" in error ? String(error.code) : "";
  return new TurnlogError(
    codes[code] ?? "LOG_FAILED",
    `A blob could not be ${doing} in ${dir} (${error.message}). Look at the disk, then try again.`,
    { cause: error },
  );
}

export const putSchema: z.ZodType = optionsOf<PutOptions>(
  { maxBytes: amount, signal: implementation({ addEventListener: code }) },
  {},
);
export const collectSchema: z.ZodType = optionsOf<CollectOptions>({ among: z.unknown() }, {});

/** The whole content of a source, within its limit. A copy: the caller may change its bytes. */
export async function collected(
  source: BlobSource,
  { maxBytes = Number.POSITIVE_INFINITY, signal }: PutOptions,
): Promise<Buffer> {
  signal?.throwIfAborted();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    signal?.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
