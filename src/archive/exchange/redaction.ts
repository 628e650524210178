/** Takes out of a fixture what it may not tell: secrets, home folders, and what the user names. Pure. */

import {
  encodedTexts,
  isNamedSecret,
  likelySecrets,
  type Range,
  type SecretRule,
} from "./secrets/index.ts";

const SECRET = "[secret]";

/** Home folders where they usually are. */
const HOMES =
  /(?<![\w/])\/(?:home|Users)\/[^\s/"'\\:,;)]+|\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\s\\"']+/g;

export interface RedactionOptions {
  readonly rules: readonly SecretRule[];
  /** Patterns of the user's own; each match becomes `[redacted]`. */
  readonly own: readonly RegExp[];
  /** A home folder that is not where they usually are. */
  readonly home: string | undefined;
}

interface Replaced {
  readonly range: Range;
  readonly by: string;
}

interface Found extends Replaced {
  readonly rule: string | undefined;
}

/** Where a text is: what is known by its name, and whether it may be as random as a secret. */
export interface Place {
  readonly name?: string;
  /** Ids and signatures of providers look like secrets and are none. */
  readonly isId?: boolean;
}

export class Redaction {
  /** Which rules took something out, by their names: filled while texts are redacted. */
  readonly applied: Set<string> = new Set();
  readonly #options: RedactionOptions;
  /** What was taken out: it goes wherever it is said again, without a name or in another form. */
  readonly #known = new Set<string>();
  #repeated: RegExp | undefined;

  constructor(options: RedactionOptions) {
    this.#options = options;
  }

  /** From now on what was found until now is taken out everywhere. */
  rememberFound(): void {
    const words = [...this.#known].toSorted((one, other) => other.length - one.length);
    this.#repeated = words.length === 0 ? undefined : new RegExp(words.map(escaped).join("|"), "g");
  }

  text(text: string, place: Place = {}): string {
    if (place.name !== undefined && isNamedSecret(place.name, text)) {
      this.#found("named-secrets", text);
      return SECRET;
    }
    return this.pieces([text], place).join("");
  }

  /** One text that came in pieces: what is taken out may lie across them. */
  pieces(pieces: readonly string[], place: Place = {}): readonly string[] {
    const own = this.#options.own.reduce(
      (current, pattern) =>
        this.#replaced(current, (text) => this.#matches("own", text, pattern, "[redacted]")),
      pieces,
    );
    const safe = this.#replaced(own, (text) => this.#secretsIn(text, place));
    return this.#replaced(safe, (text) => this.#homesIn(text));
  }

  #replaced(
    pieces: readonly string[],
    find: (text: string) => readonly Replaced[],
  ): readonly string[] {
    const found = find(pieces.join(""));
    return found.length === 0 ? pieces : withReplaced(pieces, found);
  }

  #secretsIn(text: string, place: Place): readonly Replaced[] {
    const found: Found[] = encodedTexts(text).flatMap(({ from, to, text: inner }) => {
      const redacted = this.text(inner);
      const by = Buffer.from(redacted).toString("base64");
      return redacted === inner ? [] : [{ range: [from, to], by, rule: undefined }];
    });
    const unescaped = withoutEscapes(text);
    for (const rule of this.#options.rules) {
      if (place.isId === true && rule === likelySecrets) continue;
      const ranges = rule.find(text);
      if (unescaped !== text) ranges.push(...rule.find(unescaped));
      for (const range of ranges)
        found.push({ range: besideEscapes(text, range), by: SECRET, rule: rule.name });
    }
    for (const { index, 0: word } of this.#repeated === undefined
      ? []
      : text.matchAll(this.#repeated))
      found.push({ range: [index, index + word.length], by: SECRET, rule: undefined });
    return merged(found, ({ rule, range }) => {
      if (rule !== undefined) this.#found(rule, text.slice(...range));
    });
  }

  #found(rule: string, secret: string): void {
    this.applied.add(rule);
    // An ordinary word was a secret there, and is none elsewhere.
    if (secret.length >= 8 && secret.length <= 4096 && /[^a-z]/.test(secret))
      this.#known.add(secret);
  }

  #homesIn(text: string): readonly Replaced[] {
    const { home } = this.#options;
    const usual = this.#matches("home-folders", text, HOMES, "~");
    if (home === undefined || home.length < 4) return usual;
    return merged([
      ...usual,
      ...this.#matches("home-folders", text, new RegExp(escaped(home)), "~"),
    ]);
  }

  #matches(rule: string, text: string, pattern: RegExp, by: string): readonly Replaced[] {
    const all = new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, "")}g`);
    const found = [...text.matchAll(all)].flatMap(({ index, 0: match }): readonly Replaced[] =>
      match === "" ? [] : [{ range: [index, index + match.length], by }],
    );
    if (found.length > 0) this.applied.add(rule);
    return found;
  }
}

/**
 * In their order, those that overlap as one.
 * @param tell - Called for each that is not within others.
 */
function merged<One extends Replaced>(
  found: readonly One[],
  tell: (one: One) => void = () => {},
): readonly Replaced[] {
  // Of those that begin together, the first was found by the rule that knows more.
  const ordered = found.toSorted((one, other) => one.range[0] - other.range[0]);
  const all: Replaced[] = [];
  for (const next of ordered) {
    const last = all.at(-1);
    const [from, to] = next.range;
    if (last === undefined || from >= last.range[1]) all.push(next);
    else if (to > last.range[1]) all[all.length - 1] = { range: [last.range[0], to], by: next.by };
    else continue;
    tell(next);
  }
  return all;
}

/**
 * As long as the text, with what a JSON string or markup escapes as itself: a letter before a token is
 * then no longer the `n` of `\n`.
 */
function withoutEscapes(text: string): string {
  if (!/[\\&]/.test(text)) return text;
  return text
    .replaceAll(/\\{1,8}[nr]/g, (escape) => "\n".padStart(escape.length))
    .replaceAll(/\\{1,8}t/g, (escape) => "\t".padStart(escape.length))
    .replaceAll(/\\{1,8}u0026|&amp;/g, (escape) => "&".padStart(escape.length))
    .replaceAll(/\\{1,8}u003d/gi, (escape) => "=".padStart(escape.length))
    .replaceAll(/\\{1,8}(["'])|&(?:quot|#39);/g, (escape, quote) =>
      String(quote ?? '"').padStart(escape.length),
    );
}

/** A range without the halves of escapes at its ends, so that JSON in a text stays JSON. */
function besideEscapes(text: string, [from, to]: Range): Range {
  let start = from;
  let end = to;
  while (end > start + 1 && text.charAt(end - 1) === "\\") end -= 1;
  if (start > 0 && text.charAt(start - 1) === "\\") {
    while (text.charAt(start) === "\\") start += 1;
    if (/[nrtbf"']/.test(text.charAt(start))) start += 1;
  }
  return start < end ? [start, end] : [from, to];
}

/** What stands for a range is said where it began; the pieces that it went on through lose their part of it. */
function withReplaced(pieces: readonly string[], found: readonly Replaced[]): readonly string[] {
  let begin = 0;
  let next = 0;
  return pieces.map((piece) => {
    const end = begin + piece.length;
    let kept = "";
    let at = begin;
    for (let one = found[next]; one !== undefined && one.range[0] < end; one = found[next]) {
      const [from, to] = one.range;
      if (from >= begin) kept += piece.slice(at - begin, from - begin) + one.by;
      at = Math.min(to, end);
      if (to > end) break;
      next += 1;
    }
    kept += piece.slice(at - begin);
    begin = end;
    return kept;
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
