/** Content that follows from a number: some hundred bytes to some hundred thousand. */
import { createHash } from "node:crypto";

export function blobContent(number: number): Uint8Array {
  const seed = createHash("sha256").update(String(number)).digest();
  const length = 300 + ((number * 7919) % 200_000);
  return Uint8Array.from({ length }, (_, index) => (seed[index % 32] ?? 0) ^ ((index >> 5) % 256));
}
