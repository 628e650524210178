/** Replaces secrets, home folders and the user's patterns in the texts and values of a fixture. Pure. */

import {
  encodedTexts,
  isNamedSecret,
  likelySecrets,
  type Range,
  type SecretRule,
} from "./secrets/index.ts";

const SECRET = "[secret]";

/** Home folders in their usual places. */
const HOMES =
  /(?<![\w/])\/(?:home|Users)\/[^\s/"'\\:,;)]+|\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\s\\"']+/g;

export interface RedactionOptions {
  readonly rules: readonly SecretRule[];
  /** Patterns of the user; each match becomes `[redacted]`. */
  readonly own: readonly RegExp[];
  /** A home folder in another place. */
  readonly home: string | undefined;
}

interface Replaced {
  readonly range: Range;
  readonly by: string;
}

interface Found extends Replaced {
  readonly rule: string | undefined;
}

/** The field of a text. */
export interface TextOrigin {
  readonly name?: string;
  /** Ids and signatures of providers look like secrets. */
  readonly isId?: boolean;
}

export class Redaction {
  readonly applied: Set<string> = new Set();
  readonly #options: RedactionOptions;
  /** Replaced secrets, which are also replaced where no rule finds them. */
  readonly #known = new Set<string>();
  #repeated: RegExp | undefined;

  constructor(options: RedactionOptions) {
    this.#options = options;
  }

  /** From now on, every secret that was found so far is replaced everywhere. */
  rememberFound(): void {
    const words = [...this.#known].toSorted((one, other) => other.length - one.length);
    this.#repeated = words.length === 0 ? undefined : new RegExp(words.map(escaped).join("|"), "g");
  }

  text(text: string, origin: TextOrigin = {}): string {
    if (origin.name !== undefined && isNamedSecret(origin.name, text)) {
      this.#found("named-secrets", text);
      return SECRET;
    }
    return this.pieces([text], origin).join("");
  }

  /** A secret may span several pieces. */
  pieces(pieces: readonly string[], origin: TextOrigin = {}): readonly string[] {
    const own = this.#options.own.reduce(
      (current, pattern) =>
        this.#replaced(current, (text) => this.#matches("own", text, pattern, "[redacted]")),
      pieces,
    );
    const safe = this.#replaced(own, (text) => this.#secretsIn(text, origin));
    return this.#replaced(safe, (text) => this.#homesIn(text));
  }

  #replaced(
    pieces: readonly string[],
    find: (text: string) => readonly Replaced[],
  ): readonly string[] {
    const found = find(pieces.join(""));
    return found.length === 0 ? pieces : withReplaced(pieces, found);
  }

  #secretsIn(text: string, origin: TextOrigin): readonly Replaced[] {
    const found: Found[] = [];
    const unescaped = withoutEscapes(text);
    for (const rule of this.#options.rules) {
      if (origin.isId === true && rule === likelySecrets) continue;
      const ranges = rule.find(text);
      if (unescaped !== text) ranges.push(...rule.find(unescaped));
      for (const range of ranges)
        found.push({ range: besideEscapes(text, range), by: SECRET, rule: rule.name });
    }
    for (const { from, to, text: inner } of encodedTexts(text)) {
      const redacted = this.text(inner);
      const by = Buffer.from(redacted).toString("base64");
      if (redacted !== inner) found.push({ range: [from, to], by, rule: undefined });
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
    // Short and ordinary words may be harmless elsewhere.
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

/** Joins overlapping replacements. `onUsed` is called for each that is not inside another. */
function merged<One extends Replaced>(
  found: readonly One[],
  onUsed: (one: One) => void = () => {},
): readonly Replaced[] {
  // Of replacements with the same start, the first comes from the more specific rule.
  const ordered = found.toSorted((one, other) => one.range[0] - other.range[0]);
  const all: Replaced[] = [];
  for (const next of ordered) {
    const last = all.at(-1);
    const [from, to] = next.range;
    if (last === undefined || from >= last.range[1]) all.push(next);
    else if (to > last.range[1]) all[all.length - 1] = { range: [last.range[0], to], by: next.by };
    else continue;
    onUsed(next);
  }
  return all;
}

/** Resolves escapes, padded so that positions stay: the `n` of `\n` would look like a letter before a token. */
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

/** Shrinks a range so that it does not split an escape: JSON in a text stays valid. */
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

/** A replacement goes into the piece where its range begins. */
function withReplaced(pieces: readonly string[], found: readonly Replaced[]): readonly string[] {
  let begin = 0;
  let next = 0;
  return pieces.map((piece) => {
    const end = begin + piece.length;
    let kept = "";
    let done = begin;
    for (let one = found[next]; one !== undefined && one.range[0] < end; one = found[next]) {
      const [from, to] = one.range;
      if (from >= begin) kept += piece.slice(done - begin, from - begin) + one.by;
      done = Math.min(to, end);
      if (to > end) break;
      next += 1;
    }
    kept += piece.slice(done - begin);
    begin = end;
    return kept;
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

const structural: ReadonlySet<string> = new Set(["digest", "promptDigest", "effectId", "sha256"]);

/** Fields of ids, and of signatures that a provider needs again. */
const ID =
  /(?:^id|Id|_id|ID|signature|Signature|fingerprint|etag|encrypted_?[cC]ontent|redactedData|hash|cursor|mediaType|data)$/;

/** Redacts a JSON value: its strings and the names of its fields. */
export function redactedValue(value: unknown, redaction: Redaction, name = ""): unknown {
  if (typeof value === "string")
    return structural.has(name) ? value : redaction.text(value, { name, isId: ID.test(name) });
  if (Array.isArray(value)) return redactedList(value, redaction, name);
  if (typeof value !== "object" || value === null) return value;
  const named = nameOfValue(value);
  const fields = new Map<string, unknown>();
  for (const [field, inner] of Object.entries(value)) {
    const isNamed = named !== undefined && typeof inner === "string" && VALUE.test(field);
    const key = unused(redaction.text(field), fields);
    fields.set(key, redactedValue(inner, redaction, isNamed ? named : field));
  }
  return Object.fromEntries(fields);
}

/** Two names may have been replaced by the same text. */
function unused(name: string, fields: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let count = 2; fields.has(free); count += 1) free = `${name} ${count}`;
  return free;
}

const VALUE = /^(?:value|val|data|content|text|secret)$/i;

/** For instance `{ name: "Authorization", value: "…" }`. */
function nameOfValue(value: object): string | undefined {
  const found = Object.entries(value).find(([field]) =>
    /^(?:name|key|header|field|variable)$/i.test(field),
  );
  return typeof found?.[1] === "string" ? found[1] : undefined;
}

/** In arguments and in headers as pairs, a text may name the next one. */
function redactedList(
  values: readonly unknown[],
  redaction: Redaction,
  name: string,
): readonly unknown[] {
  return values.map((value, index) => {
    const before: unknown = values[index - 1];
    const isPair =
      typeof before === "string" && (/^--?[\w-]+$/.test(before) || values.length === 2);
    return redactedValue(value, redaction, isPair ? before : name);
  });
}
