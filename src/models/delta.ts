/** Deltas and token counts of the offline and scripted models: a token is four characters, rounded up. */

export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Splits text into words with the white space around them. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

export function piecesOf(text: string, size = 16): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; from += size) pieces.push(text.slice(from, from + size));
  return pieces;
}
