/** Whether a path lies in a folder, also by the links on the way to it. Reads names, changes nothing. */

import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { hasCode } from "../../events/index.ts";

/** The folder itself counts. Neither has to be there yet. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(realPath(resolve(folder)), realPath(resolve(path)));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && resolve("/", way) !== way);
}

/** As the system follows at most. */
const LINKS = 40;

/** Of what is not there, the part that is; a link that leads to nothing leads there all the same. */
function realPath(path: string, links = LINKS): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // What cannot be followed is taken as it is written.
    if (!hasCode(error, "ENOENT", "ENOTDIR") || dirname(path) === path) return path;
  }
  const at = join(realPath(dirname(path), links), basename(path));
  const target = links === 0 ? undefined : targetOf(at);
  return target === undefined ? at : realPath(resolve(dirname(at), target), links - 1);
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    // No link, or nothing there.
    if (hasCode(error, "EINVAL", "ENOENT", "ENOTDIR", "UNKNOWN")) return undefined;
    throw error;
  }
}
