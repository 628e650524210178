/** Keys in the store that they open would go where its copies go, and open what was redacted since. */

import { TurnlogError } from "../../events/index.ts";
import { isWithin } from "../folder/index.ts";
import type { KeyStore } from "./key-store.ts";

/**
 * @param dir - The folder of the store; undefined where it has none.
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
