/** CRC-32 without Node, as `node:zlib` computes it. The build for browsers takes it instead of `node:zlib`. */

const table: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The CRC-32 of bytes, or of a text's UTF-8, after `seed`. */
export function crc32(data: string | Uint8Array, seed = 0): number {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  let value = ~seed;
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return ~value >>> 0;
}
