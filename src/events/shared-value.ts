/**
 * Freezes plain data that is shared, or copies it for a caller who may change it. Bytes, dates, functions
 * and instances of classes are neither frozen nor copied.
 */

/** Frozen values are not walked again. */
export function deepFreeze<Value>(value: Value): Value {
  const due: unknown[] = [value];
  while (due.length > 0) {
    const next = due.pop();
    if (!isPlain(next) || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const key in next) {
      const inner: unknown = Reflect.get(next, key);
      if (typeof inner === "object" && inner !== null) due.push(inner);
    }
  }
  return value;
}

export function ownCopy<Value>(value: Value): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return copied(value) as Value;
}

/** Every step copies its whole prompt: `for in` takes a quarter of the time of `Object.entries`. */
function copied(value: unknown): unknown {
  if (!isPlain(value)) return value;
  if (Array.isArray(value)) return value.map((inner: unknown) => copied(inner));
  const copy: Record<string, unknown> = { ...value };
  for (const key in copy) {
    const inner = copy[key];
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
