/** Edits everything in a value that can be edited, as a caller may who takes it for its own. */

export function spoil(value: unknown, seen: Set<unknown> = new Set()): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (![Object.prototype, Array.prototype, null].some((plain) => plain === prototype)) return;
  for (const [key, inner] of Object.entries(value)) {
    spoil(inner, seen);
    if (typeof inner !== "function") Reflect.set(value, key, spoilt(inner));
  }
  if (Array.isArray(value)) {
    if (Object.isExtensible(value)) value.push("spoilt");
  } else Reflect.set(value, "spoilt", true);
}

/** Of another content, and not of another type: what continues with it does not stumble over it. */
function spoilt(value: unknown): unknown {
  if (typeof value === "string") return `${value} spoilt`;
  return typeof value === "number" ? value + 1_000_000 : value;
}
