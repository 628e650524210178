/**
 * Entry of the command line: `npm start` runs this file, `bin/turnlog.cjs` runs its built form.
 * It has no static imports, so that Node's compile cache covers every module of the program.
 */

import { enableCompileCache } from "node:module";

enableCompileCache();
const { run } = await import("./program.ts");
process.exitCode = await run(process.argv.slice(2));
