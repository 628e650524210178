/** Whether a word was made by a random generator and not by a person or a program's author. Pure. */

/** Longer words are content. */
const MOST = 400;

type Kind = "lower" | "upper" | "digit" | "other";

function kindOf(character: string): Kind {
  if (character >= "a" && character <= "z") return "lower";
  if (character >= "A" && character <= "Z") return "upper";
  return character >= "0" && character <= "9" ? "digit" : "other";
}

/**
 * Random words change between capitals, small letters and digits at every second character; names in
 * code do so where a word begins. Shannon's entropy alone takes long names for random.
 * @param least - How many letters and digits it needs at least.
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
  // Words in it: a name of a program.
  const words = [...word.matchAll(isMixed ? /[a-z]{4,}/g : /[a-z]{7,}/gi)];
  if (words.reduce((sum, [one]) => sum + one.length, 0) > word.length * 0.4) return false;
  const changes = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length;
  const rate = changes / (kinds.length - 1);
  // Small letters and digits change less often by chance than all three kinds do.
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

/** Digests and UUIDs: as random as secrets are, and everywhere in the work of programmers. */
export function isDigestOrUuid(word: string): boolean {
  return (
    /^(?:0x)?(?:[\da-f]+|[\dA-F]+)$/.test(word) ||
    /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(word)
  );
}

/** The text that a word is the base64 of; undefined where it is of bytes, or no base64. */
export function textOfBase64(word: string): string | undefined {
  if (word.length < 12 || !/^[\w+/-]+={0,2}$/.test(word)) return undefined;
  const text = Buffer.from(word, "base64").toString("utf8");
  // oxlint-disable-next-line no-control-regex
  return text.length < 8 || /[\u0000-\u0008\u000E-\u001F\u007F-\u009F\uFFFD]/.test(text)
    ? undefined
    : text;
}
