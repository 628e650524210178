/**
 * Finds the name that a mistyped word means: one edit away. The match is strict, because messages
 * begin with words that resemble commands: `how` is not `show`, `what` is not `chat`. Pure.
 */

/** Shorter words resemble too many names: `go` is not `gc`. */
const SHORTEST = 3;

/** The name that the word means; undefined if it is exactly a name or resembles none. */
export function meantName(word: string, names: readonly string[]): string | undefined {
  if (word.length < SHORTEST || names.includes(word)) return undefined;
  return names.find((name) => isOneEditAway(word, name));
}

/** One letter added, missing or wrong after the first letter, or two neighbours swapped anywhere. */
function isOneEditAway(word: string, name: string): boolean {
  let start = 0;
  while (start < word.length && word[start] === name[start]) start++;
  let end = 0;
  const most = Math.min(word.length, name.length) - start;
  while (end < most && word.at(-1 - end) === name.at(-1 - end)) end++;
  const typed = word.slice(start, word.length - end);
  const meant = name.slice(start, name.length - end);
  if (typed.length === 2 && meant.length === 2)
    return typed[0] === meant[1] && typed[1] === meant[0];
  return start > 0 && typed.length <= 1 && meant.length <= 1;
}
