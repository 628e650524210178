/**
 * A JSON value as its difference from an earlier value that it grew from, so that a list that grows is stored in
 * pieces. Folds share what they do not change, so parts are compared by identity: an equal copy costs space only. Pure.
 */

import { byId, commonLength, isRecord, isList } from "../events/index.ts";

/** A text, a number and a boolean are their own difference. */
export type Difference =
  | string
  | number
  | boolean
  | { readonly is: unknown }
  /** A list: the length of its common beginning with the earlier one, and its other entries. */
  | { readonly kept: number; readonly added: readonly unknown[] }
  /** An object: the fields that it lacks or has in another place, and those that differ. The order stays. */
  | { readonly moved?: readonly string[]; readonly fields: Readonly<Record<string, Difference>> };

export function difference(value: unknown, before: unknown): Difference {
  if (isList(value) && isList(before)) {
    const kept = commonLength(value, before);
    return { kept, added: value.slice(kept) };
  }
  if (isRecord(value) && isRecord(before)) {
    const names = Object.keys(value);
    const common = Object.keys(before).filter((name) => Object.hasOwn(value, name));
    const displaced = common.findIndex((name, index) => name !== names[index]);
    const inPlace = new Set(displaced === -1 ? common : common.slice(0, displaced));
    const moved = Object.keys(before).filter((name) => !inPlace.has(name));
    const fields = Object.entries(value).flatMap(([name, field]) => {
      const earlier = byId(before, name);
      const isSame = inPlace.has(name) && field === earlier;
      return isSame ? [] : [[name, difference(field, earlier)] as const];
    });
    return { ...(moved.length === 0 ? {} : { moved }), fields: Object.fromEntries(fields) };
  }
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : { is: value };
}

/** The value of a difference; not the one that was stored if it is from another value than `before`. */
export function restored(before: unknown, from: Difference): unknown {
  if (typeof from !== "object") return from;
  if ("added" in from)
    return [...(isList(before) ? before.slice(0, from.kept) : []), ...from.added];
  if (!("fields" in from)) return from.is;
  const { moved, fields } = from;
  const earlier = isRecord(before) ? before : {};
  const changed = Object.entries(fields);
  if (moved === undefined && changed.length === 0) return earlier;
  const next: Record<string, unknown> =
    moved === undefined
      ? { ...earlier }
      : Object.fromEntries(Object.entries(earlier).filter(([name]) => !moved.includes(name)));
  for (const [name, field] of changed) {
    const value = restored(byId(earlier, name), field);
    // A long session has thousands of boundaries: assigning takes half the time of `Object.fromEntries`.
    if (name !== "__proto__") next[name] = value;
    else Object.defineProperty(next, name, { value, enumerable: true });
  }
  return next;
}
