/** The command line as one file: it starts in half of the time that the thousand files of the sources and packages take. */

import { builtOnce } from "../support/bundled.ts";

/** The file to start. */
export const main: string = await builtOnce(new URL("../../src/cli/main.ts", import.meta.url));
