/** Tells random words from words that people write. Pure. */

/** Longer words are content, not secrets. */
const MOST = 400;

type Kind = "lower" | "upper" | "digit" | "other";

function kindOf(character: string): Kind {
  if (character >= "a" && character <= "z") return "lower";
  if (character >= "A" && character <= "Z") return "upper";
  return character >= "0" && character <= "9" ? "digit" : "other";
}

/**
 * Random words change between capitals, small letters and digits at about every second character; names in
 * code change where a word begins. Entropy alone takes long names for random.
 * @param least - The fewest letters and digits of a random word.
 */
export function isRandom(word: string, least: number): boolean {
  if (word.length > MOST) return false;
  const kinds = word
    .split("")
    .map(kindOf)
    .filter((kind) => kind !== "other");
  if (kinds.length < least || kinds.length < word.length * 0.8) return false;
  const found = new Set(kinds);
  if (found.size < 2) return false;
  const isMixed = found.has("lower") && found.has("upper");
  // A name that consists of words.
  const words = [...word.matchAll(isMixed ? /[a-z]{4,}/g : /[a-z]{7,}/gi)];
  if (words.reduce((sum, [one]) => sum + one.length, 0) > word.length * 0.4) return false;
  const changes = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length;
  const rate = changes / (kinds.length - 1);
  // With two kinds of characters, random changes are rarer than with three.
  const expected = found.has("digit") ? (found.size === 3 ? 0.36 : 0.22) : 0.4;
  return rate >= expected && entropy(word) >= Math.min(3, Math.log2(kinds.length) - 1);
}

/** Shannon's entropy in bits per character. */
function entropy(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()]
    .map((count) => count / word.length)
    .reduce((sum, share) => sum - share * Math.log2(share), 0);
}

/** Digests and UUIDs are random, common in programs, and not secret. */
export function isDigestOrUuid(word: string): boolean {
  return (
    /^(?:0x)?(?:[\da-f]+|[\dA-F]+)$/.test(word) ||
    /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(word)
  );
}
