/** The entry. It has no static imports, so that Node's compile cache covers every module of the program. */

import { enableCompileCache } from "node:module";

enableCompileCache();
const { run } = await import("./program.ts");
process.exitCode = await run(process.argv.slice(2));
