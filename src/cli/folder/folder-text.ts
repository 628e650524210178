/** Reads an opened file as text, up to a size; detects binary files. */
import type { FileHandle } from "node:fs/promises";

/** The most bytes to read of a file. */
export const mostBytes = 8 * 1024 * 1024;

export type TextRead =
  | {
      readonly kind: "text";
      /** Lines without their ends; a newline at the end of the file begins no further line. */
      readonly lines: readonly string[];
      /** Whether the whole file was read. */
      readonly whole: boolean;
    }
  | { readonly kind: "binary"; readonly bytes: number };

export async function readText(
  handle: FileHandle,
  signal: AbortSignal | undefined,
): Promise<TextRead> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    signal?.throwIfAborted();
    const wanted = Math.min(256 * 1024, mostBytes + 1 - bytes);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted);
    if (bytesRead === 0) break;
    // Like git and grep, takes a NUL byte as the mark of a binary file.
    const chunk = buffer.subarray(0, bytesRead);
    if (chunk.includes(0)) return { kind: "binary", bytes: (await handle.stat()).size };
    chunks.push(chunk);
    bytes += bytesRead;
    if (bytes > mostBytes) break;
  }
  const whole = bytes <= mostBytes;
  // `stream` drops a character that the limit cuts in two.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, mostBytes), {
    stream: !whole,
  });
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return { kind: "text", lines, whole };
}

/** Bytes in the unit that is easiest to read: "12 bytes", "3.4 MB". */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : [bytes / 1024 / 1024, "MB"];
  return `${value.toFixed(1)} ${unit}`;
}
