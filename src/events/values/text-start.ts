/** Texts that are cut: no half of a surrogate pair is left, which providers and terminals refuse. */

/** The first code units of a text, one less where the cut would part a pair. */
export function textStart(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

/** The same with `…` in the place of the rest. */
export function cutShort(text: string, length: number): string {
  return text.length <= length ? text : `${textStart(text, length)}…`;
}

/** Quotes a name in a sentence, if line ends or invisible characters in it could forge the next sentence. */
export function visibleWord(name: string): string {
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? JSON.stringify(name) : name;
}
