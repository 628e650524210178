/** A value of JSON without secrets: its texts, the names of its fields, and texts that another one names. */

import type { Redaction } from "./redaction.ts";

/** Fields that say what a thing is, and not what was said. */
const structural: ReadonlySet<string> = new Set(["digest", "promptDigest", "effectId", "sha256"]);

/** Fields of ids, and of signatures that a provider asks back. */
const ID =
  /(?:^id|Id|_id|ID|signature|Signature|fingerprint|etag|encrypted_?[cC]ontent|redactedData|hash|cursor|mediaType|data)$/;

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

/** Two names that were secrets are two fields still. */
function unused(name: string, fields: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let count = 2; fields.has(free); count += 1) free = `${name} ${count}`;
  return free;
}

const VALUE = /^(?:value|val|data|content|text|secret)$/i;

/** `{ name: "Authorization", value: "…" }` */
function nameOfValue(value: object): string | undefined {
  const found = Object.entries(value).find(([field]) =>
    /^(?:name|key|header|field|variable)$/i.test(field),
  );
  return typeof found?.[1] === "string" ? found[1] : undefined;
}

/** Arguments, and headers as pairs: a text may be the name of the next one. */
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
