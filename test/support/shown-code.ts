// Runs the code that a page of the documents shows, as it is there.
import { fileURLToPath, pathToFileURL } from "node:url";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** Runs a block with the sources of turnlog (`own-package.ts`) and the installed packages; rejects with what it throws. */
export async function runShownCode(code: string): Promise<void> {
  await using folder = await temporaryFolder({ "shown.ts": code });
  await folder.link("node_modules", packages);
  await import(pathToFileURL(folder.at("shown.ts")).href);
}
