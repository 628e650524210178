/**
 * Plain data that has more than one reader: frozen, so that nobody changes it for the others, or copied
 * for somebody who may change it. Everything that is not plain data (bytes, dates, functions, instances
 * of classes) stays as it is and is shared.
 */

/** Freezes plain data with all that is in it, and returns it. What is frozen already is not looked at again. */
export function deepFreeze<Value>(value: Value): Value {
  const due: unknown[] = [value];
  while (due.length > 0) {
    const next = due.pop();
    if (!isPlain(next) || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) {
      if (typeof inner === "object" && inner !== null) due.push(inner);
    }
  }
  return value;
}

/** A copy of plain data, with all that is in it, that its owner may change. */
export function ownCopy<Value>(value: Value): Value {
  // A copy is of the type of what it is made of.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return copied(value) as Value;
}

function copied(value: unknown): unknown {
  if (!isPlain(value)) return value;
  if (Array.isArray(value)) return value.map((inner: unknown) => copied(inner));
  const copy: Record<string, unknown> = { ...value };
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "object" && inner !== null) copy[key] = copied(inner);
  }
  return copy;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
