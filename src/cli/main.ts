/** The entry. It has no static imports, so that Node's compile cache covers every module of the program. */

import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

enableCompileCache();
// These walk through whole sessions: V8 would let its heap grow to several times what they need.
const walks = new Set(["verify", "import"]);
if (process.argv.some((word) => walks.has(word))) {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=25");
}
const { run } = await import("./program.ts");
process.exitCode = await run(process.argv.slice(2));
