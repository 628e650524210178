/** Whether a path is inside a folder, following links. Reads names only. */

import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { hasCode } from "../../events/index.ts";

/** True for the folder itself. Neither path has to exist. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(realPath(resolve(folder)), realPath(resolve(path)));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && resolve("/", way) !== way);
}

/** The most links, as in Linux. */
const LINKS = 40;

/** The real path of the part that exists. A link without a target still counts as its target. */
function realPath(path: string, links = LINKS): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // Unreadable paths are taken literally.
    if (!hasCode(error, "ENOENT", "ENOTDIR") || dirname(path) === path) return path;
  }
  const resolved = join(realPath(dirname(path), links), basename(path));
  const target = links === 0 ? undefined : targetOf(resolved);
  return target === undefined ? resolved : realPath(resolve(dirname(resolved), target), links - 1);
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    // Not a link, or nothing exists there.
    if (hasCode(error, "EINVAL", "ENOENT", "ENOTDIR", "UNKNOWN")) return undefined;
    throw error;
  }
}
