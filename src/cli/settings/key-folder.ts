/** The folder that --keys or TURNLOG_KEYS names: where the keys of encrypted sessions are. */

import { resolve } from "node:path";
import { folderKeys, type KeyStore } from "../../store/encryption/index.ts";
import { isWithin } from "../../store/folder/index.ts";
import { UsageError } from "../output/index.ts";

/** Undefined where none is named; a variable that is set to nothing names none. @throws UsageError */
export function keysIn(folder: string | undefined, dir: string): KeyStore | undefined {
  if (folder === undefined || folder.trim() === "") return undefined;
  const keys = resolve(folder);
  if (isWithin(dir, keys))
    throw new UsageError(
      `The keys must not lie in the store (${dir}): whoever copies it would copy them too. Name another folder by --keys.`,
    );
  return folderKeys(keys);
}
