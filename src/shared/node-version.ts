/** An older Node lacks functions that the library calls: without this it fails with a TypeError in the middle. */

import { TurnlogError } from "../events/index.ts";

/** As `engines` of package.json says; a test compares them. */
const OLDEST_NODE = "22.12.0";

/** @throws TurnlogError `NODE_TOO_OLD` if this Node is older than {@link OLDEST_NODE} */
export function assertNodeVersion(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split(".").map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new TurnlogError(
    "NODE_TOO_OLD",
    `turnlog needs Node.js ${OLDEST_NODE} or newer; this is ${version}. Install a newer Node.`,
  );
}
