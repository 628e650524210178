/** A rule that a provider enforces on what is posted to it, and a book of such rules. Pure. */

import type { z } from "zod";

type Value = string | number;

/** A rule of one provider, over its posted body. */
export interface Rule<Body> {
  readonly id: string;
  /** The rule, in a sentence. */
  readonly says: string;
  /** Where it is written: the provider's reference, or a public report of its refusal. */
  readonly source: string;
  /** What the provider answers; `{}` stands for a place or a value of the body. */
  readonly words: string;
  /** For each breach the values that the words have in it, in order. */
  readonly breaches: (body: Body) => Iterable<readonly Value[]>;
}

/** A breach of a rule, with the words of the answer. */
export interface Breach {
  readonly rule: string;
  readonly words: string;
}

export interface Rulebook {
  readonly rules: readonly Omit<Rule<never>, "breaches">[];
  /** Every breach in a posted body. @throws ZodError for a body of another form */
  readonly breaches: (posted: unknown) => readonly Breach[];
}

export function rulebook<Body>(schema: z.ZodType<Body>, rules: readonly Rule<Body>[]): Rulebook {
  return {
    rules,
    breaches: (posted) => {
      const body = schema.parse(posted);
      return rules.flatMap(({ id, words, breaches }) =>
        Array.from(breaches(body), (values) => ({ rule: id, words: filled(words, values) })),
      );
    },
  };
}

function filled(words: string, values: readonly Value[]): string {
  let next = 0;
  return words.replaceAll("{}", () => String(values[next++] ?? ""));
}

/** Each string in a JSON value, keys of objects too. */
export function* stringsIn(value: unknown): Generator<string, void> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* stringsIn(item);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      yield key;
      yield* stringsIn(item);
    }
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a text is JSON of an object. */
export function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** The items that came before, by what `keyOf` says; those without a key are left out. */
export function repeated<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | undefined,
): readonly Item[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const key = keyOf(item);
    if (key === undefined) return false;
    if (seen.has(key)) return true;
    seen.add(key);
    return false;
  });
}

const signatures: readonly (readonly [type: string, form: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF....WEBP/s],
  ["application/pdf", /^%PDF-/],
];

/** What the first bytes of a file say that it is; undefined for anything else. */
export function typeOfData(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, 64), "base64").toString("latin1");
  return signatures.find(([, form]) => form.test(head))?.[0];
}

/** Whether a file ends as its type does: one that was cut off does not. */
export function isWhole(base64: string, type: string): boolean {
  const tail = Buffer.from(base64.slice(-64 - (base64.length % 4)), "base64").toString("latin1");
  if (type === "image/png") return tail.includes("IEND");
  if (type === "application/pdf") return tail.includes("%%EOF");
  return true;
}
