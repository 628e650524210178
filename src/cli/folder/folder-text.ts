/** Reads an opened file as text, up to a size, and refuses what is not text. */
import type { FileHandle } from "node:fs/promises";

/** At most this much of a file is read. */
export const mostBytes: number = 8 * 1024 * 1024;

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
    // A NUL byte is what git, grep and others take for the mark of a binary file, too.
    const chunk = buffer.subarray(0, bytesRead);
    if (chunk.includes(0)) return { kind: "binary", bytes: (await handle.stat()).size };
    chunks.push(chunk);
    bytes += bytesRead;
    if (bytes > mostBytes) break;
  }
  const whole = bytes <= mostBytes;
  // `stream` drops a character that the limit cut in two, rather than showing half of it.
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
