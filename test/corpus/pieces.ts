// Cuts bytes into pieces of uneven size, as a network may: through lines and through UTF-8 sequences.
// Pure: the same seed cuts the same bytes in the same places.

const longestPiece = 160;

/** The bytes in order, in pieces of 1 to 160 bytes; about half of all multi-byte characters are cut through. */
export function* cutIntoPieces(bytes: Uint8Array, seed: number): Generator<Uint8Array, void> {
  const draw = randomFrom(seed);
  let from = 0;
  while (from < bytes.length) {
    const to = Math.min(from + 1 + Math.floor(draw() * longestPiece), bytes.length);
    const inside = bytes
      .subarray(from + 1, to)
      .findIndex((byte) => isContinuation(byte) && draw() < 0.5);
    const cut = inside === -1 ? to : from + 1 + inside;
    yield bytes.subarray(from, cut);
    from = cut;
  }
}

/** Whether a byte is inside a UTF-8 sequence: a piece that begins with one was cut through a character. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

/** mulberry32: 32 bits of state are plenty for choosing cuts. */
function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
