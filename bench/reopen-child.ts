/**
 * A process of its own that opens a store and is ready for the next model call of its session.
 * `node --expose-gc bench/reopen-child.ts <dir> <steps>` prints what that took, beyond its start and the loading of modules.
 */

import { createRuntime } from "../src/public/index.ts";
import { mark } from "./meter.ts";
import { SESSION } from "./turnlog-session.ts";
import { createWorkload, workloadModel } from "./workload.ts";
import { workloadTools } from "./workload-tools.ts";

// Loaded by the runtime when it is first needed; loading is not what is measured.
await import("../src/runtime/model/language-model-call.ts");

const [dir = "", steps = ""] = process.argv.slice(2);
const tools = workloadTools(createWorkload(Number(steps)));
const model = workloadModel(createWorkload(1), () => {
  finish();
});

// What loading has left behind would be collected in the middle of the opening.
globalThis.gc?.();
const start = mark();
const runtime = await createRuntime({ dir, durability: "os", agent: { model, tools } });
const opened = mark();
const session = await runtime.session(SESSION);
const { prompt, position } = await session.view();
const ready = mark();
// On to the call itself, so that nothing has been put off.
await session.send("Go on.");

function finish(): void {
  const called = mark();
  const measured = {
    openMs: opened.wallMs - start.wallMs,
    readyMs: ready.wallMs - start.wallMs,
    readyCpuMs: ready.cpuMs - start.cpuMs,
    calledMs: called.wallMs - start.wallMs,
    events: position,
    messages: prompt.messages.length,
  };
  process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0));
}
