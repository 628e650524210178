/** Refuses keys inside their store: they would be in its copies, and decrypt what was redacted since. */

import { TurnlogError } from "../../events/index.ts";
import { isWithin } from "../folder/index.ts";
import type { KeyStore } from "./key-store.ts";

/**
 * @param dir - The folder of the store; undefined if it has none.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function assertKeysOutside({ folder }: KeyStore, dir: string | undefined): void {
  if (folder === undefined || dir === undefined || !isWithin(dir, folder)) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The keys must not lie in the store (${folder} is in ${dir}): whoever copies it would copy them too. Name a folder outside of it.`,
    { details: { folder, dir } },
  );
}
