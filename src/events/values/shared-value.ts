/**
 * Freezes plain data that is shared, or copies it for a caller who may change it. Bytes, dates, functions
 * and instances of classes are neither frozen nor copied. Makes objects without absent fields, and tells what a value is.
 */

/** Frozen values are not walked again. Keys are read before the freeze: afterwards they take twice as long. */
export function deepFreeze<Value>(value: Value): Value {
  const due: unknown[] = [value];
  while (due.length > 0) {
    const next = due.pop();
    if (!isPlain(next) || Object.isFrozen(next)) continue;
    addObjects(due, next);
    Object.freeze(next);
  }
  return value;
}

function addObjects(due: unknown[], from: Plain): void {
  if (isList(from)) {
    for (const inner of from) if (isObject(inner)) due.push(inner);
  } else {
    for (const key in from) {
      const inner = from[key];
      if (isObject(inner)) due.push(inner);
    }
  }
}

type Plain = readonly unknown[] | { readonly [key: string]: unknown };

/** How many entries two lists begin with in common. A long session asks at each step: `findIndex` takes ten times as long. */
export function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Whether a value is an object, and no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function ownCopy<Value>(value: Value): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return copied(value) as Value;
}

/** Every step copies its whole prompt: `for in` takes a quarter of the time of `Object.entries`. */
function copied(value: unknown): unknown {
  if (!isPlain(value)) return value;
  if (isList(value)) return value.map((inner) => copied(inner));
  const copy: Record<string, unknown> = { ...value };
  for (const key in copy) {
    const inner = copy[key];
    if (isObject(inner)) copy[key] = copied(inner);
  }
  return copy;
}

function isPlain(value: unknown): value is Plain {
  if (!isObject(value)) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

type Defined<Fields> = {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<
    Fields[Key],
    undefined
  >;
};

/** The fields that are not undefined, in their order: an absent field is left out of stored data. */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(given) as Defined<Fields>;
}

/** Undefined for a text that is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a text says as JSON, which may be null; else the text itself. */
export function jsonOrText(text: string): unknown {
  const value = parsedJson(text);
  return value === undefined ? text : value;
}
