/** Folders that only their owner can enter. */

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

const PRIVATE_FOLDER = 0o700;

/** Makes a folder that is private, if it is not there; folders above it are made as usual. */
export function makePrivateFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
}
