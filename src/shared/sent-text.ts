/** Replaces lone surrogates, which providers refuse: texts that were cut in the middle of a character have them. */

/** The value with U+FFFD for lone surrogates in all its texts and keys. The same object if it has none. */
export function wellFormed<Value>(value: Value): Value {
  if (isWellFormed(value)) return value;
  // The same value with other letters in its texts.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return replaced(value) as Value;
}

function replaced(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (Array.isArray(value)) {
    const items = value.map(replaced);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isRecord(value)) return value;
  let isSame = true;
  const entries = Object.entries(value).map(([key, one]): readonly [string, unknown] => {
    const entry = [key.toWellFormed(), replaced(one)] as const;
    if (entry[0] !== key || entry[1] !== one) isSame = false;
    return entry;
  });
  return isSame ? value : Object.fromEntries(entries);
}

/** Nearly all values are: looking at one makes nothing. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isRecord(value)) return true;
  for (const key in value) {
    if (!key.isWellFormed() || !isWellFormed(Reflect.get(value, key))) return false;
  }
  return true;
}

/** Not bytes, URLs and other instances: a file's data is sent as it is. */
function isRecord(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
