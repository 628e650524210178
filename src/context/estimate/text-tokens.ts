/**
 * Estimates the tokens of a text without a tokenizer: one pass splits it where byte-pair tokenizers split and
 * weighs each piece. The weights were fitted to counts of the tokenizers that providers publish
 * (docs/decisions/0016-the-size-of-a-prompt.md). Called for every new message; must stay linear.
 */

/** The tokenizers with weights of their own. */
export type Vocabulary = "o200k" | "deepseek";

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const BREAK = 5;
const SIGN = 6;

const classes: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32 || code === 9) return SPACE;
  return code === 10 || code === 13 ? BREAK : SIGN;
});

/** The class of each character, followed by a 0. */
type Classes = Uint8Array;

/** Reused for short texts: allocating an array takes longer than filling it. */
const scratch: Classes = new Uint8Array(65_536);

function classesOf(text: string): Classes {
  const { length } = text;
  const kinds = length < scratch.length ? scratch : new Uint8Array(length + 1);
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    kinds[index] = code < 128 ? (classes[code] ?? 0) : 0;
  }
  kinds[length] = 0;
  return kinds;
}

function runEnd(kinds: Classes, from: number, kind: number): number {
  let end = from + 1;
  while (kinds[end] === kind) end++;
  return end;
}

/** Tokens of the pieces of a text: near 1 where tokenizers have a token for most. */
interface Weights {
  /** Of a word by its length (`WORD_LENGTHS`): with a space before it, with a sign, with `_`, alone. */
  readonly word: readonly (readonly number[])[];
  /** Of each letter of a word beyond `LONG_WORD`. */
  readonly letter: number;
  /** Of two capitals or more, and of each after the fourth. */
  readonly capitals: readonly [number, number];
  /** Of three digits or fewer. */
  readonly digits: number;
  /** Of one sign, two, three and more; of each beyond three; of three or more that are the same. */
  readonly signs: readonly [number, number, number, number, number];
  /** Of white space before a line's end, and elsewhere. */
  readonly space: readonly [number, number];
  /** Of a character in base64 or ids, and in hashes. */
  readonly dense: readonly [number, number];
  /** Of a character, by `scripts`. */
  readonly scripts: readonly number[];
}

/** The shortest word of each weight but the first. */
const WORD_LENGTHS: readonly number[] = [2, 5, 7, 10, 14];
const LONG_WORD = 13;
const UNDERSCORE = 95;

/** The first code of the script after each. */
const scripts: readonly number[] = [
  0x250, // Latin with diacritics
  0x370,
  0x400, // Greek
  0x530, // Cyrillic
  0x600, // Hebrew, Armenian
  0x780, // Arabic
  0x2000, // Indic and South-East Asian
  0x2e00, // punctuation, arrows, box drawing
  0x3040, // CJK punctuation
  0x3100, // Kana
  0x3400,
  0xa000, // Han
  0xac00,
  0xd7b0, // Hangul
  0xd800,
  0xe000, // halves of emoji and rare characters
  0xff00,
  0x10000, // full width
];

const weights: Readonly<Record<Vocabulary, Weights>> = {
  o200k: {
    word: [
      [1.05, 1.05, 0.9, 0.95, 1.15, 2.05],
      [0.95, 1.35, 1.2, 1.85, 2.1, 2.55],
      [1, 1, 1, 1.25, 1.8, 2.5],
      [1.3, 0.75, 0.9, 1.35, 1.6, 2.5],
    ],
    letter: 0.4,
    capitals: [1.15, 0.3],
    digits: 1,
    signs: [1, 1.15, 1.25, 0.4, 1.2],
    space: [1.3, 1.05],
    dense: [0.67, 0.58],
    scripts: [0.8, 1, 0.6, 0.35, 0.6, 0.35, 0.6, 0.65, 1, 0.55, 0.9, 0.8, 1, 0.65, 1, 1.05, 1, 0.9],
  },
  deepseek: {
    word: [
      [1.15, 0.95, 0.95, 0.95, 1.3, 2.1],
      [1.05, 1.4, 1.4, 2.1, 2.3, 2.55],
      [1, 1.35, 1.4, 1.7, 1.85, 2.5],
      [1.35, 0.95, 0.95, 1.55, 1.65, 2.5],
    ],
    letter: 0.6,
    capitals: [1.2, 0.55],
    digits: 1,
    signs: [1.2, 1.05, 1.35, 0.45, 1.2],
    space: [1.45, 0.75],
    dense: [0.67, 0.58],
    scripts: [1.55, 1, 0.6, 0.45, 0.6, 0.4, 0.6, 0.5, 1, 0.55, 0.9, 0.65, 1, 0.8, 1, 1.05, 1, 0.9],
  },
};

function characterTokens(code: number, { scripts: tokens }: Weights): number {
  for (let index = 0; index < scripts.length; index++) {
    if (code < (scripts[index] ?? 0)) return tokens[index] ?? 1;
  }
  return 1;
}

/** Base64, hashes and ids: long runs in which letters and digits alternate. */
const DENSE_LENGTH = 20;
const DENSE_CHANGES = 0.28;

interface Run {
  readonly end: number;
  /** Undefined if the run is words. */
  readonly tokens: number | undefined;
}

/** The end of a run of letters, digits and base64 signs. */
function denseEnd(text: string, kinds: Classes, from: number): number {
  for (let end = from; ; end++) {
    const kind = kinds[end] ?? 0;
    if (kind !== 0 && kind <= DIGIT) continue;
    if (kind !== SIGN) return end;
    const code = text.charCodeAt(end);
    if (code !== 43 && code !== 47 && code !== 61) return end;
  }
}

function denseRun(text: string, kinds: Classes, from: number, { dense }: Weights): Run {
  const end = denseEnd(text, kinds, from);
  const length = end - from;
  if (length < DENSE_LENGTH) return { end, tokens: undefined };
  let changes = 0;
  let upper = 0;
  let before = 0;
  for (let index = from; index < end; index++) {
    const kind = kinds[index] ?? 0;
    // Paths have signs too.
    if (kind === SIGN) continue;
    // A capital before a small letter begins a word in camel case.
    const begins = before === UPPER && kind === LOWER;
    if (before !== 0 && kind !== before && !begins) changes++;
    if (kind === UPPER) upper++;
    before = kind;
  }
  if (changes <= DENSE_CHANGES * length) return { end, tokens: undefined };
  return { end, tokens: length * (upper > length / 10 ? dense[0] : dense[1]) };
}

/** Estimated tokens of a text, as a tokenizer with this vocabulary counts them. Not rounded. */
export function textTokens(text: string, vocabulary: Vocabulary = "o200k"): number {
  const table = weights[vocabulary];
  let tokens = 0;
  for (let from = 0; from < text.length;) {
    const end = partEnd(text, from);
    tokens = withTokens(tokens, text.slice(from, end), table);
    from = end;
  }
  return tokens;
}

/**
 * The end of a part that fits into `scratch`: before a space behind a word or sign, so that no piece is split.
 * A longer text without one is one part.
 */
function partEnd(text: string, from: number): number {
  const most = from + scratch.length - 1;
  if (text.length <= most) return text.length;
  let end = text.lastIndexOf(" ", most);
  while (end > from && isSpace(text.charCodeAt(end - 1))) end = text.lastIndexOf(" ", end - 1);
  return end > from ? end : text.length;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

/** Adds the pieces one by one, so that the sum is the same to the last bit however a text is split. */
function withTokens(before: number, text: string, table: Weights): number {
  let tokens = before;
  let index = 0;
  const kinds = classesOf(text);
  // A run of words is not checked again at each of its words.
  let looked = 0;
  while (index < text.length) {
    const kind = kinds[index] ?? 0;
    if (isWord(kind) && index >= looked) {
      const run = denseRun(text, kinds, index, table);
      looked = run.end;
      if (run.tokens !== undefined) {
        tokens += run.tokens;
        index = run.end;
        continue;
      }
    }
    const end = pieceEnd(kinds, index, kind);
    tokens += pieceTokens(text, kinds, index, end, table);
    index = end;
  }
  return tokens;
}

function isWord(kind: number): boolean {
  return kind !== 0 && kind <= DIGIT;
}

function pieceEnd(kinds: Classes, from: number, kind: number): number {
  if (kind === 0) return from + 1;
  let end = runEnd(kinds, from, kind);
  // `Word` and `XMLFile` are one piece each; signs have the line ends behind them.
  if (kind === UPPER) while (kinds[end] === LOWER) end++;
  else if (kind === SIGN) while (kinds[end] === BREAK) end++;
  else if (kind >= SPACE) while (kinds[end] === SPACE || kinds[end] === BREAK) end++;
  return end;
}

/** Whether the sign at this index begins the word behind it: `.name`, but not `).name` or ` (name`. */
function beginsWord(kinds: Classes, index: number): boolean {
  const [before, next] = [kinds[index - 1], kinds[index + 1]];
  return before !== SIGN && before !== SPACE && (next === LOWER || next === UPPER);
}

/** The index into `Weights.word`. */
function wordBeginning(text: string, kinds: Classes, from: number): number {
  const before = kinds[from - 1];
  if (before === SPACE) return 0;
  if (before !== SIGN || !beginsWord(kinds, from - 1)) return 3;
  return text.charCodeAt(from - 1) === UNDERSCORE ? 2 : 1;
}

function wordTokens(
  text: string,
  kinds: Classes,
  from: number,
  end: number,
  table: Weights,
): number {
  const length = end - from;
  if (kinds[from] === UPPER && kinds[from + 1] === UPPER) {
    return table.capitals[0] + table.capitals[1] * Math.max(0, length - 4);
  }
  const by = wordBeginning(text, kinds, from);
  let size = 0;
  while (length >= (WORD_LENGTHS[size] ?? Infinity)) size++;
  return (table.word[by]?.[size] ?? 1) + table.letter * Math.max(0, length - LONG_WORD);
}

/** White space up to its last line end is a piece; the rest is one, without the space that the next piece has. */
function blankTokens(kinds: Classes, from: number, end: number, { space }: Weights): number {
  let start = end;
  while (start > from && kinds[start - 1] === SPACE) start--;
  const line = start > from ? space[0] : 0;
  const length = end - start;
  if (length === 0) return line;
  if (kinds[end] === DIGIT) return line + (length > 1 ? 2 : 1) * space[1];
  return line + (length > 1 ? space[1] : 0);
}

function signTokens(
  text: string,
  kinds: Classes,
  from: number,
  end: number,
  { signs }: Weights,
): number {
  let last = end;
  while (kinds[last - 1] === BREAK) last--;
  const length = last - from;
  if (length === 1) return last === end && beginsWord(kinds, from) ? 0 : signs[0];
  if (length === 2) return signs[1];
  const first = text.charCodeAt(from);
  for (let index = from + 1; index < last; index++) {
    if (text.charCodeAt(index) !== first) return signs[2] + signs[3] * (length - 3);
  }
  return signs[4];
}

function pieceTokens(
  text: string,
  kinds: Classes,
  from: number,
  end: number,
  table: Weights,
): number {
  switch (kinds[from]) {
    case LOWER:
    case UPPER:
      return wordTokens(text, kinds, from, end, table);
    case DIGIT:
      return table.digits * Math.ceil((end - from) / 3);
    case SPACE:
    case BREAK:
      return blankTokens(kinds, from, end, table);
    case SIGN:
      return signTokens(text, kinds, from, end, table);
    default:
      return characterTokens(text.charCodeAt(from), table);
  }
}
