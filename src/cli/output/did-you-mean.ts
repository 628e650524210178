/**
 * Which of some names a word is meant for that is one slip of a finger away from it. Strict, since
 * people also begin messages with words that are like names: `how` and `what` are no `show` and `chat`.
 * Pure.
 */

/** Shorter words are close to too much: `go` is no `gc`. */
const SHORTEST = 3;

/** The name that was meant; undefined where the word is none of them, or one of them as it stands. */
export function meantName(word: string, names: readonly string[]): string | undefined {
  if (word.length < SHORTEST || names.includes(word)) return undefined;
  return names.find((name) => isOneSlipAway(word, name));
}

/** A letter too many, too few or wrong behind the first one, or two that changed places anywhere. */
function isOneSlipAway(word: string, name: string): boolean {
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
