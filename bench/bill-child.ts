/**
 * A process of its own that opens a store and asks for its bill: `node --expose-gc bench/bill-child.ts <place>` prints
 * the milliseconds of the first question and of five more, of the clock and of CPU, and the calls of the answer.
 */

import { scriptedModel } from "../src/models/index.ts";
import { createRuntime } from "../src/public/index.ts";
import { openedLog } from "./bill-log.ts";
import { mark, type Mark } from "./meter.ts";

const [place = ""] = process.argv.slice(2);
await using log = await openedLog(place);
await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
// What loading has left behind would be collected in the middle of the question.
globalThis.gc?.();
const took: Mark[] = [];
let calls = 0;
for (let question = 0; question < 6; question++) {
  const from = mark();
  const rows = await runtime.bill({ by: "tenant" });
  const to = mark();
  took.push({ wallMs: to.wallMs - from.wallMs, cpuMs: to.cpuMs - from.cpuMs });
  calls = rows.reduce((sum, row) => sum + row.calls, 0);
}
process.stdout.write(`${JSON.stringify({ took, calls })}\n`);
