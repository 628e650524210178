/**
 * Where the command line starts: `npm start` runs this file and `bin/turnlog.cjs` its built form.
 * Imports nothing itself, so that what it loads comes from Node's compile cache from the second run on.
 */

import { enableCompileCache } from "node:module";

enableCompileCache();
const { run } = await import("./program.ts");
process.exitCode = await run(process.argv.slice(2));
