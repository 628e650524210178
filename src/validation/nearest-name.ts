/** Finds the known name that an unknown one was probably meant to be. Pure. */

import { closestMatch } from "leven";

/** The nearest of `names`; undefined if none of them is near. */
export function nearestName(unknown: string, names: readonly string[]): string | undefined {
  const written = plain(unknown);
  const known = new Map(names.map((name) => [plain(name), name]));
  const maxDistance = Math.min(3, Math.ceil(written.length / 3));
  const near = closestMatch(written, [...known.keys()], { maxDistance });
  return near === undefined ? containing(written, known) : known.get(near);
}

/** `max_steps` and `maxsteps` are the same name to who writes them. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** `timeout` was meant to be `timeoutMs`: one name is a part of the other. */
function containing(written: string, known: ReadonlyMap<string, string>): string | undefined {
  if (written.length < 3) return undefined;
  for (const [name, as] of known) {
    if (name.length >= 3 && (name.includes(written) || written.includes(name))) return as;
  }
  return undefined;
}
