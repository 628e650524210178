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
