/**
 * How our own models cut what they say into deltas, and how they count its tokens.
 * The rule is stated, not measured: a token is four characters, rounded up.
 */

/** Tokens of a text by the rule of four characters each. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Cuts prose into words, each with the white space after it; joined they are the text again. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

/** Cuts a tool input into pieces of at most `size` characters, as providers send them. */
export function piecesOf(text: string, size = 16): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; from += size) pieces.push(text.slice(from, from + size));
  return pieces;
}
