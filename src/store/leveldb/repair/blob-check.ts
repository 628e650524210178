/**
 * Checks the blobs that a repaired log refers to. A lost blob can only come back from a copy; an
 * altered one is set aside, so that it counts as missing.
 */

import { rename } from "node:fs/promises";
import { join } from "node:path";
import { folderBlobs } from "../../blobs/index.ts";
import { TurnlogError } from "../../../events/index.ts";
import { makePrivateFolder } from "../../folder/index.ts";
import type { StoredBlob } from "../rows/stored-blobs.ts";
import { namesIn, type StorePaths } from "../files/store-paths.ts";

export interface LostBlob extends StoredBlob {
  /** Where the altered bytes are. Delete the file when you no longer need it. */
  readonly setAside?: string;
}

export interface CheckedBlobs {
  /** How many of the blobs that events refer to exist, each once. */
  readonly blobs: number;
  /** The other blobs, each with the first event that refers to it. */
  readonly lost: readonly LostBlob[];
}

export async function checkBlobs(
  paths: StorePaths,
  blobs: ReadonlyMap<string, StoredBlob>,
): Promise<CheckedBlobs> {
  const stored = folderBlobs(paths.blobs);
  const lost: LostBlob[] = [];
  for (const blob of blobs.values()) {
    try {
      for await (const _ of stored.get(blob.sha256)) void _;
    } catch (error) {
      const code = TurnlogError.isInstance(error) ? error.code : undefined;
      if (code === "BLOB_DAMAGED")
        lost.push({ ...blob, setAside: await setAside(paths, blob.sha256) });
      else if (code === "BLOB_MISSING") lost.push(blob);
      else throw error;
    }
  }
  return { blobs: blobs.size - lost.length, lost };
}

async function setAside({ blobs, damagedBlobs }: StorePaths, sha256: string): Promise<string> {
  makePrivateFolder(damagedBlobs);
  const before = namesIn(damagedBlobs).filter((name) => name.startsWith(sha256)).length;
  const aside = join(damagedBlobs, before === 0 ? sha256 : `${sha256}-${before + 1}`);
  await rename(join(blobs, sha256.slice(0, 2), sha256), aside);
  return aside;
}
