/** Loads a package that only one feature needs, where the feature is first used; never at import. */

import { hasCode, TurnlogError } from "../events/index.ts";

/** @throws TurnlogError `PACKAGE_MISSING` if the package is not installed; the message says how to install it */
export async function optionalPackage<Module>(
  name: string,
  feature: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!hasCode(error, "ERR_MODULE_NOT_FOUND") || !String(error).includes(`'${name}'`))
      throw error;
    throw new TurnlogError(
      "PACKAGE_MISSING",
      `${feature} needs the package ${name}, which is not installed. Run \`npm install ${name}\`.`,
      { details: { package: name }, cause: error },
    );
  }
}

// An older Node lacks functions that the library calls: without this it fails with a TypeError in the middle.

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
