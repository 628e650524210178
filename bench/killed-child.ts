/** A process of its own that is killed in the middle of its session: `node bench/killed-child.ts <dir> <steps> <kill before step>`. */

import { createRuntime } from "../src/public/index.ts";
import { SESSION } from "./turnlog-session.ts";
import { createWorkload, workloadModel } from "./workload.ts";
import { workloadTools } from "./workload-tools.ts";

const [dir = "", steps = "", last = ""] = process.argv.slice(2);
const workload = createWorkload(Number(steps));
const model = workloadModel(workload, (step) => {
  if (step === Number(last)) process.kill(process.pid, "SIGKILL");
});
const agent = { model, tools: workloadTools(workload), maxSteps: workload.steps };
const runtime = await createRuntime({ dir, durability: "os", agent });
const session = await runtime.session(SESSION);
const turn = await session.send(workload.request);
await turn.result;
