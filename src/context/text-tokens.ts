/**
 * Estimates the tokens of a text without a tokenizer: one pass splits it where a byte-pair tokenizer would and
 * weighs each piece. The weights were fitted to o200k counts on one half of the sample texts and checked on
 * the other (docs/decisions/0010). Called for every new message; must stay linear.
 */

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const BREAK = 5;
const TAB = 6;
const SIGN = 7;

const classes: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32) return SPACE;
  if (code === 10 || code === 13) return BREAK;
  return code === 9 ? TAB : SIGN;
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

/** Tokens a character, by the first code of the next script. */
const scripts: readonly (readonly [below: number, tokens: number])[] = [
  [0x250, 0.9], // Latin with diacritics
  [0x370, 1],
  [0x400, 0.6], // Greek
  [0x530, 0.38], // Cyrillic
  [0x600, 0.6], // Hebrew, Armenian
  [0x780, 0.34], // Arabic
  [0x2000, 0.6], // Indic and South-East Asian
  [0x2e00, 1.1], // punctuation, arrows, box drawing
  [0x3040, 0.94], // CJK punctuation
  [0x3100, 0.58], // Kana
  [0x3400, 0.9],
  [0xa000, 0.8], // Han
  [0xac00, 1],
  [0xd7b0, 0.68], // Hangul
  [0xd800, 1],
  [0xe000, 1], // halves of emoji and rare characters
  [0xff00, 1],
  [0x10000, 0.94], // full width
];

function beyondAscii(code: number): number {
  for (const [below, tokens] of scripts) if (code < below) return tokens;
  return 1;
}

/** Base64, hashes and ids: long runs in which letters and digits alternate. */
const DENSE_LENGTH = 20;
const DENSE_CHANGES = 0.28;
const DENSE_TOKENS = { mixed: 0.65, lower: 0.56 };

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

function denseRun(text: string, kinds: Classes, from: number): Run {
  const end = denseEnd(text, kinds, from);
  const length = end - from;
  if (length < DENSE_LENGTH) return { end, tokens: undefined };
  let changes = 0;
  let upper = 0;
  let before = 0;
  for (let index = from; index < end; index++) {
    const kind = kinds[index] ?? 0;
    // A capital before a small letter begins a word in camel case.
    const begins = before === UPPER && kind === LOWER;
    if (before !== 0 && kind !== before && !begins) changes++;
    if (kind === UPPER) upper++;
    before = kind;
  }
  if (changes <= DENSE_CHANGES * length) return { end, tokens: undefined };
  return { end, tokens: length * (upper > length / 10 ? DENSE_TOKENS.mixed : DENSE_TOKENS.lower) };
}

/** Tokens of a word by its length. A space before it belongs to the word. */
function wordTokens(length: number, afterSpace: boolean): number {
  if (length === 1) return afterSpace ? 0.8 : 0.6;
  if (length <= 4) return afterSpace ? 1.05 : 0.8;
  if (length <= 7) return afterSpace ? 0.95 : 0.65;
  if (length <= 10) return afterSpace ? 1.2 : 1.4;
  if (length <= 13) return afterSpace ? 1.55 : 2.05;
  return (afterSpace ? 2.05 : 2.5) + 0.35 * (length - 13);
}

function signTokens(text: string, kinds: Classes, from: number, end: number): number {
  const length = end - from;
  if (length === 1) {
    const next = kinds[end];
    return next === LOWER || next === UPPER ? 0.65 : 0.75;
  }
  if (length === 2) return 1.1;
  const first = text.charCodeAt(from);
  for (let index = from + 1; index < end; index++) {
    if (text.charCodeAt(index) !== first) return 0.9 + 0.3 * (length - 2);
  }
  return 1;
}

/** Estimated tokens of a text, as GPT's o200k vocabulary counts them. Not rounded. */
export function textTokens(text: string): number {
  let tokens = 0;
  for (let from = 0; from < text.length;) {
    const end = partEnd(text, from);
    tokens = withTokens(tokens, text.slice(from, end));
    from = end;
  }
  return tokens;
}

/**
 * The end of a part that fits into `scratch`: before a space, so that no piece is split. A longer text
 * without a space is one part.
 */
function partEnd(text: string, from: number): number {
  const most = from + scratch.length - 1;
  if (text.length <= most) return text.length;
  let end = text.lastIndexOf(" ", most);
  while (end > from && text[end - 1] === " ") end--;
  return end > from ? end : text.length;
}

/** Adds the pieces one by one, so that the sum is the same to the last bit however a text is split. */
function withTokens(before: number, text: string): number {
  let tokens = before;
  let index = 0;
  const kinds = classesOf(text);
  // A run of words is not checked again at each of its words.
  let looked = 0;
  while (index < text.length) {
    const kind = kinds[index] ?? 0;
    if ((kind === LOWER || kind === UPPER || kind === DIGIT) && index >= looked) {
      const run = denseRun(text, kinds, index);
      looked = run.end;
      if (run.tokens !== undefined) {
        tokens += run.tokens;
        index = run.end;
        continue;
      }
    }
    const end = pieceEnd(kinds, index, kind);
    tokens += pieceTokens(text, kinds, index, end);
    index = end;
  }
  return tokens;
}

function pieceEnd(kinds: Classes, from: number, kind: number): number {
  if (kind === 0) return from + 1;
  const end = runEnd(kinds, from, kind);
  if (kind !== UPPER || kinds[end] !== LOWER) return end;
  // `Word` is one piece; in `XMLFile` the last capital belongs to the next piece.
  return end - from === 1 ? runEnd(kinds, end, LOWER) : end - 1;
}

function pieceTokens(text: string, kinds: Classes, from: number, end: number): number {
  const length = end - from;
  switch (kinds[from]) {
    case LOWER:
      return wordTokens(length, kinds[from - 1] === SPACE);
    case UPPER:
      return length > 1 && kinds[from + 1] === UPPER
        ? 1 + 0.3 * Math.max(0, length - 2)
        : wordTokens(length, kinds[from - 1] === SPACE);
    case DIGIT:
      return 1.35 * Math.ceil(length / 3);
    case SPACE:
      if (length > 1) return 1.1;
      return kinds[end] === DIGIT ? 1.2 : 0;
    case BREAK:
      return kinds[from - 1] === SIGN ? 0.02 : 1.2;
    case TAB:
      return 0.8;
    case SIGN:
      return signTokens(text, kinds, from, end);
    default:
      return beyondAscii(text.charCodeAt(from));
  }
}
