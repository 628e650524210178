/** The form of each family of the catalogue: a type map and its schemas. */

import type { z } from "zod";

/** Functions: a schema is built when an event of its type first comes, not when a program starts. */
export type FamilySchemas<Family> = {
  readonly [Type in keyof Family]: () => z.ZodType<Family[Type]>;
};

/** An object whose properties are the results of `makers`, each made at its first use. */
export function atFirstUse<Values extends object>(makers: {
  readonly [Key in keyof Values]: () => Values[Key];
}): Values;
export function atFirstUse(makers: Readonly<Record<string, () => unknown>>): object {
  const values = {};
  for (const [key, make] of Object.entries(makers)) {
    Object.defineProperty(values, key, {
      enumerable: true,
      configurable: true,
      get: () => {
        const value = make();
        Object.defineProperty(values, key, { value, enumerable: true });
        return value;
      },
    });
  }
  return values;
}
