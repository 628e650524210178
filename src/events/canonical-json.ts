/** JSON that is the same whoever writes it: RFC 8785, names in the order of their code units. Pure. */

/** What JSON leaves out is left out, as `JSON.stringify` does. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const fields: string[] = [];
  const named: [string, unknown][] = Object.entries(value);
  for (const [name, inner] of named.toSorted(byName)) {
    if (inner !== undefined) fields.push(`${JSON.stringify(name)}:${canonicalJson(inner)}`);
  }
  return `{${fields.join(",")}}`;
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : Number(one > other);
}
