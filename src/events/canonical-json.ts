/** JSON that is the same whoever writes it: RFC 8785, names in the order of their code units. Pure. */

/** What JSON cannot hold is what `JSON.stringify` makes of it. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = JSON.parse(JSON.stringify(value) ?? "null");
    return canonicalJson(plain);
  }
  const fields: string[] = [];
  const named: [string, unknown][] = Object.entries(value);
  for (const [name, inner] of named.toSorted(byName)) {
    if (inner !== undefined && typeof inner !== "function")
      fields.push(`${JSON.stringify(name)}:${canonicalJson(inner)}`);
  }
  return `{${fields.join(",")}}`;
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : Number(one > other);
}
